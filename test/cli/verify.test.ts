import { expect } from 'chai'
import { sealBeginning } from '#src/events/allowance.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { buildPlaces, type Place } from '#test/support/build-places.ts'
import { counting, lineEvent, mirror } from '#test/support/line-projections.ts'
import { foldLive } from '#test/support/random-log.ts'
import { createServices, useInstallation } from './harness.ts'

describe('throughline verify', () => {
  const { run } = useInstallation()
  let stream: Stream
  let place: Place
  beforeEach(() => {
    stream = createMemoryStream({ partition: '0' })
    place = (buildPlaces['memory'] as () => Place)()
  })

  async function verify(name: string, ...options: readonly string[]) {
    const openBuilds = async () => [{ ...place.context(stream, 1), close: async () => undefined }]
    const { code, out } = await run(['verify', name, ...options], { services: { ...createServices(), openBuilds } })
    return { code, out }
  }

  it('finds nothing wrong where nothing was received yet', async () => {
    const expected = { code: 0, out: 'No index is there yet, and nothing in the log.\n' }
    expect(await verify('all')).to.deep.equal(expected)
    await stream.append([sealBeginning(0)])
    expect(await verify('all')).to.deep.equal(expected)
  })

  it('compares a part of the workspaces, the same ones in each index, and one at least', async () => {
    const names = ['acme', 'other', 'third', 'fourth']
    await stream.append(names.map((workspace, n) => lineEvent(n, ['one'], workspace)))
    await foldLive(place.context(stream, 1))
    const compared = async (part: string): Promise<readonly (readonly string[])[]> => {
      const { code, out } = await verify('all', '--sample', part, '--json')
      expect(code).to.equal(0)
      const { verdicts } = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as {
        verdicts: readonly Readonly<{ workspaces: readonly Readonly<{ workspace: string }>[] }>[]
      }
      return verdicts.map(({ workspaces }) => workspaces.map(({ workspace }) => workspace).toSorted())
    }
    for (const [part, count] of [
      ['1', 4],
      ['0.5', 2],
      ['0.001', 1],
    ] as const) {
      const [first = [], second] = await compared(part)
      expect(first, part).to.have.length(count)
      expect(second, part).to.deep.equal(first)
      expect(names, part).to.include.members([...first])
    }
  })

  it('says that an index is missing, and compares the others', async () => {
    await stream.append([lineEvent(1, ['one'])])
    const line = (name: string) =>
      `${name} has no index of partition 0, whose log holds events: a process that folds makes it, or "throughline rebuild ${name}".\n`
    expect(await verify('mirror')).to.deep.equal({ code: 1, out: line('mirror') })
    await foldLive(place.context(stream, 1, undefined, [counting]))
    const { code, out } = await verify('all', '--json')
    const { equal, verdicts, missing } = JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<
      string,
      readonly Readonly<{ equal: boolean }>[]
    >
    expect([code, equal, missing]).to.deep.equal([1, false, [{ projection: mirror.name, partition: '0' }]])
    expect(verdicts?.map((one) => one.equal)).to.deep.equal([true])
    expect((await verify('counting')).code).to.equal(0)
  })

  it('compares none where a build of one partition is of another version, and says which', async () => {
    const later = { ...counting, version: 2 }
    let folds = 0
    const partitions = await Promise.all(
      [counting, later].map(async (projection, number) => {
        const log = createMemoryStream({ partition: String(number) })
        await log.append([lineEvent(1, ['one'])])
        const { context } = (buildPlaces['memory'] as () => Place)()
        await foldLive(context(log, 1, undefined, [counting]))
        const given = context(log, 1, undefined, [projection])
        const scratch = () => {
          folds++
          return given.scratch()
        }
        return { ...given, scratch, close: async () => undefined }
      }),
    )
    const services = { ...createServices(), openBuilds: async () => partitions }
    const { code, out, err } = await run(['verify', 'counting'], { services })
    expect([code, out, folds]).to.deep.equal([2, '', 0])
    expect(err).to.match(/verify counting-v1-001 of partition 1 \(this program folds counting v2:/)
  })
})
