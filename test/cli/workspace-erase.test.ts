import { expect } from 'chai'
import { changeRoster, nominate } from '#projections/roster.ts'
import { withSeenEvents } from '#projections/seen-events.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { foldShares } from '#projections/fold-shares.ts'
import { buildPlaces, type Place } from '#test/support/build-places.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { createServices, useInstallation } from './harness.ts'

describe('throughline workspace erase', () => {
  const { run, json } = useInstallation()

  it('names builds of another log that hold some of it as pending', async () => {
    const { id } = (await json('workspace', 'create', 'gone')) as { id: string }
    const place = (buildPlaces['memory'] as () => Place)()
    const foldInto = async (index: string, stream: Stream): Promise<void> => {
      const context = place.context(stream, 1, undefined, [counting])
      await stream.append([lineEvent(1, ['of the workspace'], id)])
      const until = await stream.head()
      await foldShares(context, context.index, [{ projection: 'counting', index, after: 0, until }])
    }
    const [before, now] = ['before', 'now'].map((epoch) => createMemoryStream({ partition: '0', epoch })) as [
      Stream,
      Stream,
    ]
    await foldInto('counting-v1-001', before)
    await foldInto('counting-v1-002', now)
    await place.writer().open('counting-v1-003', withSeenEvents(counting), 'without any of it')
    await changeRoster(place.writer(), 'counting', nominate('counting-v1-002'))
    const openBuilds = async () => [{ ...place.context(now, 1, undefined, [counting]), close: async () => undefined }]
    const services = { ...createServices(), openBuilds }
    const { code, out, err } = await run(['workspace', 'erase', 'gone', '--confirm', 'gone', '--json'], { services })
    expect(code, err).to.equal(0)
    expect(JSON.parse(out)).to.deep.include({ erased: true, pending: ['counting-v1-002', 'counting-v1-001'] })
  })
})
