import { expect } from 'chai'
import { changeRoster, holding, keepOn, lose, nominate, promoteTo } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { buildPlaces, type Place } from '#test/support/build-places.ts'
import { counting } from '#test/support/line-projections.ts'
import { createServices, useInstallation } from './harness.ts'

describe('throughline builds', () => {
  const { run } = useInstallation()

  it('says of a build that somebody keeps that it has seen what the log has lost', async () => {
    const place = (buildPlaces['memory'] as () => Place)()
    const stream = createMemoryStream({ partition: '0' })
    const [writer, former, live] = [place.writer(), 'counting-v1-001', 'counting-v1-002']
    for (const index of [former, live]) await writer.open(index, withSeenEvents(counting), stream.epoch)
    const builds = async (): Promise<readonly Record<string, unknown>[]> => {
      const openBuilds = async () => [{ ...place.context(stream, 1), close: async () => undefined }]
      const { out } = await run(['builds', '--json'], { services: { ...createServices(), openBuilds } })
      return (JSON.parse(out) as { builds: readonly Record<string, unknown>[] }).builds
    }
    const states = async (): Promise<unknown> => (await builds()).map(({ state }) => state)
    for (const change of [nominate(former), promoteTo(live, former, 1e12)]) {
      await changeRoster(writer, 'counting', change)
    }
    const [until, since] = ['2001-09-09T01:46:40.000Z', '2001-09-09T01:46:41.000Z']
    expect((await builds())[0]).to.include({ state: 'kept', kept_until: until, log_held_since: null })
    await changeRoster(writer, 'counting', holding(former, 1e12 + 1_000))
    expect((await builds())[0]).to.include({ kept_until: until, log_held_since: since })
    await changeRoster(writer, 'counting', keepOn(former))
    expect(await states()).to.deep.equal(['kept', 'live'])
    await changeRoster(writer, 'counting', lose(former))
    expect(await states()).to.deep.equal(['lost', 'live'])
  })
})
