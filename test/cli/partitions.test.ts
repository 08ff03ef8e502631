import { expect } from 'chai'
import type { Stream } from '#streams/stream.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { withWriter, type BuildContext } from '#projections/builds/build-place.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { TransientError } from '#src/lib/failure.ts'
import { buildPlaces, type Place } from '#test/support/build-places.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { createServices, useInstallation } from './harness.ts'

/** Three events in each of three partitions. */
async function threeLogs(): Promise<readonly Stream[]> {
  const logs = ['0', '1', '2'].map((partition) => createMemoryStream({ partition }))
  for (const log of logs) await log.append([1, 2, 3].map((n) => lineEvent(n, [`line ${n}`])))
  return logs
}

describe('a position of one partition', () => {
  const { run } = useInstallation()

  const outOf = async (...argv: readonly string[]): Promise<string> => {
    const logs = await threeLogs()
    const services = {
      ...createServices(),
      openLogs: async () => logs,
      openBuilds: async () =>
        logs.map((log) => {
          const place = (buildPlaces['memory'] as () => Place)()
          return { ...place.context(log, 1), close: async () => undefined }
        }),
    }
    const { code, out, err } = await run(argv, { services })
    expect(code, err).to.equal(0)
    return out
  }

  const replayed = async (...argv: readonly string[]): Promise<readonly string[]> =>
    (await outOf('replay', ...argv))
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { partition: string; position: number })
      .map(({ partition, position }) => `${partition}/${position}`)

  it('begins and ends what is replayed in that one, and nothing of others comes', async () => {
    expect(await replayed('--from', '1/8192')).to.deep.equal(['1/8192', '1/12288'])
    expect(await replayed('--to', '2/4096')).to.deep.equal(['2/4096'])
    expect(await replayed('--from', '0/8192', '--to', '0/8192')).to.deep.equal(['0/8192'])
  })

  it('without a partition is one of each', async () => {
    expect(await replayed('--from', '12288')).to.deep.equal(['0/12288', '1/12288', '2/12288'])
  })

  it('ends where the log did when its turn came', async () => {
    const [log] = (await threeLogs()) as [Stream, ...Stream[]]
    const growing: Stream = {
      ...log,
      head: async () => {
        const head = await log.head()
        await log.append([lineEvent(4, ['late'])])
        return head
      },
    }
    const { out } = await run(['replay'], { services: { ...createServices(), openLogs: async () => [growing] } })
    expect([...out.matchAll(/"position":(\d+)/g)].map(([, position]) => position)).to.deep.equal([
      '4096',
      '8192',
      '12288',
    ])
  })

  it('leaves out what is before it of a rebuild of that one alone', async () => {
    const fromOf = async (place: string): Promise<readonly number[]> => {
      const out = await outOf('rebuild', 'counting', '--from', place, '--dry-run', '--json')
      return (JSON.parse(out) as { plans: readonly { events: number }[] }).plans.map(({ events }) => events)
    }
    expect(await fromOf('1/8192')).to.deep.equal([3, 2, 3])
    expect(await fromOf('8192')).to.deep.equal([2, 2, 2])
  })

  it('beyond the end of one log begins a rebuild of none', async () => {
    const logs = [...(await threeLogs()), createMemoryStream({ partition: '3' })]
    const contexts = logs.map((log) => (buildPlaces['memory'] as () => Place)().context(log, 1))
    const openBuilds = async () => contexts.map((context) => ({ ...context, close: async () => undefined }))
    const services = { ...createServices(), openBuilds }
    const { code, out, err } = await run(['rebuild', 'counting', '--from', '8192'], { services })
    expect([code, out]).to.deep.equal([1, ''])
    expect(err).to.contain('the log of partition 3 ends at position 0: begin no later')
    const builds = await Promise.all(contexts.map(({ index }) => withWriter(index, (it) => it.builds('counting'))))
    expect(builds.flat()).to.deep.equal([])
  })

  it('of a partition that is none is refused, before anything is folded', async () => {
    const logs = await threeLogs()
    const contexts = logs.map((log) => (buildPlaces['memory'] as () => Place)().context(log, 1))
    const openBuilds = async () => contexts.map((context) => ({ ...context, close: async () => undefined }))
    const services = { ...createServices(), openLogs: async () => logs, openBuilds }
    for (const verb of [['rebuild', 'counting'], ['rebuild', 'counting', '--dry-run'], ['replay']]) {
      const { code, out, err } = await run([...verb, '--from', '9/8192'], { services })
      expect([code, out], err).to.deep.equal([2, ''])
      expect(err).to.contain('throughline: --from: partition 9 is none of those meant: 0, 1, 2\n')
    }
    const { err } = await run(['replay', '--to', '9/8192'], { services: { ...services, openLogs: threeLogs } })
    expect(err).to.contain('throughline: --to: partition 9 is none of those meant: 0, 1, 2\n')
    const builds = await Promise.all(contexts.map(({ index }) => withWriter(index, (it) => it.builds('counting'))))
    expect(builds.flat()).to.deep.equal([])
  })
})

describe('a verb that works on several partitions, whose builds have the same names', () => {
  const { run } = useInstallation()
  let contexts: readonly BuildContext[]
  beforeEach(async () => {
    const logs = await threeLogs()
    contexts = logs.map((log) => (buildPlaces['memory'] as () => Place)().context(log, 1))
  })

  const ask = (...argv: readonly string[]) => {
    const openBuilds = async () => contexts.map((context) => ({ ...context, close: async () => undefined }))
    return run(argv, { services: { ...createServices(), openBuilds } })
  }
  const jsonOf = async (...argv: readonly string[]): Promise<Readonly<Record<string, readonly unknown[]>>> => {
    const { out } = await ask(...argv, '--json')
    return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as Record<string, readonly unknown[]>
  }
  const all = ['0', '1', '2'].map((partition) => ({ partition }))

  it('says of which one it tells: what would be rebuilt, was, is compared, and was left', async () => {
    expect((await jsonOf('rebuild', 'counting', '--dry-run'))['plans']).to.containSubset(all)
    expect((await jsonOf('rebuild', 'counting'))['rebuilt']).to.containSubset(all)
    const { out: rebuilt } = await ask('rebuild', 'counting')
    for (const each of ['0', '1', '2']) {
      expect(rebuilt).to.contain(`counting-v1-002 of partition ${each} is what the log says`)
      expect(rebuilt).to.contain(`counting-v1-002 of partition ${each}: readers use it now`)
    }
    expect((await jsonOf('verify', 'counting'))['verdicts']).to.containSubset(all)
    const { out: back } = await ask('rollback', 'counting')
    for (const each of ['0', '1', '2'])
      expect(back).to.contain(`Readers use counting-v1-001 again in partition ${each}; counting-v1-002 is kept.`)
    expect((await jsonOf('rollback', 'counting'))['moved']).to.containSubset(all)
  })

  it('drops a build of none, where readers of one use it', async () => {
    for (const _ of [1, 2]) await ask('rebuild', 'counting')
    const back = () => Promise.all(contexts.slice(-1).map((last) => rollBack(last, counting)))
    await back()
    const { code, err } = await ask('drop', 'counting-v1-001')
    expect([code, err]).to.deep.equal([
      1,
      'throughline: in partition 2: drop counting-v1-001 (readers use it: rebuild, or roll back, and drop it then)\n',
    ])
    const builds = () => Promise.all(contexts.map(({ index }) => withWriter(index, (it) => it.builds('counting'))))
    const named = async () => (await builds()).map((of) => of.map(({ index }) => index).toSorted())
    expect(await named()).to.deep.equal(contexts.map(() => ['counting-v1-001', 'counting-v1-002']))
    await back()
    expect((await ask('drop', 'counting-v1-001')).out).to.equal('counting-v1-001 is gone.\n')
    expect(await named()).to.deep.equal(contexts.map(() => ['counting-v1-002']))
  })

  it('says in which one it is refused', async () => {
    const held = await contexts[1]?.lock('counting')
    const { code, err } = await ask('rebuild', 'counting')
    await held?.release()
    expect([code, err]).to.deep.equal([
      1,
      'fold …\nverify …\nmove …\nthroughline: in partition 1: rebuild counting (another rebuild of it is under way: wait for it, or stop it)\n',
    ])
    const { err: none } = await ask('rollback', 'counting')
    expect(none).to.contain('throughline: in partition 0: roll back counting (no earlier build of it is kept)')
  })

  it('says so too where the failure names another one, whose number begins alike', async () => {
    const place = (buildPlaces['memory'] as () => Place)()
    const away = new TransientError({ operation: 'ask', subject: 'partition 12' })
    contexts = ['1', '2'].map((partition) =>
      place.context({ ...createMemoryStream({ partition }), head: () => Promise.reject(away) }, 1),
    )
    const { err } = await ask('rebuild', 'counting')
    expect(err).to.equal('throughline: in partition 1: ask partition 12\n')
  })
})
