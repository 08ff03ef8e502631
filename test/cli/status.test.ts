import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import type { Progress } from '#projections/index-store.ts'
import type { CliServices } from '#src/cli/services.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { readCurrent } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { append } from '#test/support/projector-run.ts'
import { createServices, useInstallation } from './harness.ts'

describe('throughline status', () => {
  const { run, json } = useInstallation()
  it('shows the directory, and the log and each index of each partition', async () => {
    await json('workspace', 'create', 'acme')
    const at = Date.now()
    const progress = new Map([
      ['traces', { index: 'traces-v5-001', after: 0, position: 0, head: 0, at, caughtUpAt: at }],
    ])
    const notBuilt = {
      index: null,
      position: 0,
      lag: null,
      state: 'not built',
      heard_at: null,
      lost_days: 0,
      closed_days: 0,
      dead_letters: 0,
      error: null,
    }
    const { out } = await run(['status', '--json'], { services: createServices(progress, ['0', '1']) })
    expect(JSON.parse(out)).to.deep.equal({
      directory: { position: 4_096, workspaces: 1 },
      logs: [
        { partition: '0', head: 0, first: null },
        { partition: '1', head: 0, first: null },
      ],
      indexes: [
        {
          projection: 'traces',
          partition: '0',
          index: 'traces-v5-001',
          position: 0,
          lag: 0,
          state: 'complete',
          heard_at: new Date(at).toISOString(),
          lost_days: 0,
          closed_days: 0,
          dead_letters: 0,
          error: null,
        },
        { projection: 'traces', partition: '1', ...notBuilt },
        { projection: 'logs', partition: '0', ...notBuilt },
        { projection: 'logs', partition: '1', ...notBuilt },
      ],
      quarantines: [],
      full_disks: [],
    })
  })

  it('says of days that are gone to rebuild them, and of those whose indices are closed to open them', async () => {
    const told = { after: 0, position: 0, head: 0, at: Date.now(), caughtUpAt: 0 }
    const gone = [{ day: '2026-11-20' }]
    const shut = [
      { day: '2026-11-21', isClosed: true as const },
      { day: '2026-11-22', isClosed: true as const },
    ]
    const progress = new Map([
      ['traces', { ...told, index: 'traces-v5-001', lostDays: [...gone, ...shut] }],
      ['logs', { ...told, index: 'logs-v5-001', lostDays: shut }],
    ])
    const { out } = await run(['status'], { services: createServices(progress) })
    const states = out.split('\n').flatMap((line) => / (lacks days) /.exec(line)?.[1] ?? [])
    expect(states).to.deep.equal(['lacks days', 'lacks days'])
    const said = out.split('\n').filter((line) => line.includes(' in partition 0, of which'))
    expect(said).to.deep.equal([
      'traces-v5-001 lacks 1 day in partition 0, of which files or indices were removed by hand or lost: "throughline rebuild traces" folds them again.',
      'traces-v5-001 lacks 2 days in partition 0, of which indices are closed in Elasticsearch: open them again (POST /INDEX/_open).',
      'logs-v5-001 lacks 2 days in partition 0, of which indices are closed in Elasticsearch: open them again (POST /INDEX/_open).',
    ])
  })

  it('takes no fault of the program for an index that cannot be read', async () => {
    const progress = () => Promise.reject(new TypeError('a fault'))
    const services: CliServices = {
      ...createServices(),
      openIndexes: async () => [{ progress, close: async () => undefined }],
    }
    expect(await run(['status'], { services }).catch(String)).to.equal('TypeError: a fault')
  })

  it('shows all else where an index cannot be read, and says why', async () => {
    const refuse = new PermanentError({ operation: 'open', subject: 'meta.db', hint: 'its layout is version 2' })
    const services: CliServices = {
      ...createServices(),
      openIndexes: async () => [
        {
          progress: async (name) => {
            if (name === 'logs') throw refuse
            return { index: 'traces-v5-001', after: 0, position: 0, head: 0, at: Date.now(), caughtUpAt: 0 }
          },
          close: async () => undefined,
        },
      ],
    }
    const { code, out, err } = await run(['status'], { services })
    expect([code, err]).to.deep.equal([1, ''])
    const lines = out.split('\n').map((line) => line.split(/ {2,}/))
    expect(lines.slice(-4)).to.deep.equal([
      ['traces', '0', 'traces-v5-001', '0', '0', 'complete', '0'],
      ['logs', '0', 'not readable'],
      ['Not readable: logs: open meta.db (its layout is version 2)'],
      [''],
    ])
    const { code: jsonCode, out: asJson } = await run(['status', '--json'], { services })
    const { indexes } = JSON.parse(asJson) as { indexes: readonly Record<string, unknown>[] }
    expect([jsonCode, indexes.map(({ state, error }) => [state, error])]).to.deep.equal([
      1,
      [
        ['complete', null],
        ['not readable', 'open meta.db (its layout is version 2)'],
      ],
    ])
  })

  it('tells what is behind from what nobody was heard of, and of dead letters those on which nobody has decided', async () => {
    await json('workspace', 'create', 'acme')
    const stream = createMemoryStream({ partition: '0' })
    await append(stream, [['a'], ['b']])
    const letters = createDeadLetters({ stream, clock: Date.now })
    const version = { name: 'logs', version: 7 }
    for (const event of await readCurrent(stream, 0, 2)) {
      await letters.put(version, new PoisonError(event, new PermanentError({ operation: 'fold', subject: 'it' })))
    }
    await letters.settle(version, 4_096, 'dropped')
    const head = await stream.head()
    const at = Date.now()
    const build = { after: 0, head, caughtUpAt: 0 }
    const services = (beat: number, position: number, beatOfTraces = 0): CliServices => ({
      ...createServices(
        new Map([
          ['traces', { ...build, index: 'traces-v5-001', position: 0, at: beatOfTraces }],
          ['logs', { ...build, index: 'logs-v7-001', position, at: beat }],
        ]),
      ),
      openLogs: async () => [{ ...stream, close: async () => undefined }],
    })
    const shown = async (given: CliServices) => {
      const { out } = await run(['status', '--json'], { services: given })
      const { indexes } = JSON.parse(out) as { indexes: readonly Record<string, unknown>[] }
      return indexes.map(({ state, lag, dead_letters: letters }) => [state, lag, letters])
    }
    const left = ['silent', head, 0]
    expect(await shown(services(at, 4_096))).to.deep.equal([left, ['behind', head - 4_096, 1]])
    // It was asked before the log, and a writer went on.
    expect(await shown(services(at, head + 4_096))).to.deep.equal([left, ['complete', 0, 1]])
    const lastLine = async (beat: number, beatOfTraces: number): Promise<string | undefined> => {
      const { out } = await run(['status'], { services: services(beat, head, beatOfTraces) })
      return out.trimEnd().split('\n').at(-1)
    }
    // One that is silent may be retrying: that nobody runs it is not known.
    const why = 'Whatever folds them has stopped, or retries, or is busy with one batch: its standard error says which.'
    expect(await lastLine(at, at - 60_000)).to.equal(
      `Silent: last heard of ${new Date(at - 60_000).toISOString()}. ${why}`,
    )
    expect(await lastLine(1_000, 0)).to.equal(`Silent: last heard of 1970-01-01T00:00:01.000Z. ${why}`)
    expect(await lastLine(1_000, 2_000)).to.equal(
      `Silent: last heard of between 1970-01-01T00:00:01.000Z and 1970-01-01T00:00:02.000Z. ${why}`,
    )
    expect(await lastLine(at, 0)).to.equal('Silent: no server has been heard of since they were made.')
  })

  it('says of an index of another version that it is one, and not that nobody folds it', async () => {
    const at = Date.now()
    const build = { after: 0, position: 0, head: 0, caughtUpAt: 0 }
    const old = { ...build, index: 'traces-v4-001', at: 0, isOfAnotherVersion: true }
    const services = createServices(
      new Map<string, Progress>([
        ['traces', old],
        ['logs', { ...build, index: 'logs-v7-001', at }],
      ]),
    )
    const { code, out } = await run(['status'], { services })
    const lines = out.split('\n').map((line) => line.split(/ {2,}/))
    expect([code, ...lines.slice(-4)]).to.deep.equal([
      0,
      ['traces', '0', 'traces-v4-001', '0', '0', 'other version', '0'],
      ['logs', '0', 'logs-v7-001', '0', '0', 'complete', '0'],
      [
        'Of another version than this program folds: traces-v4-001. After an upgrade the server folds new builds beside these (see throughline builds); after the way back to an older program, its rollback or rebuild makes them. Until readers use them, answers are not complete.',
      ],
      [''],
    ])
  })

  it('shows damaged logs that were set aside, for as long as they lie there', async () => {
    const report = {
      name: 'log',
      at: '2026-11-22T13:00:00.000Z',
      reason: 'event 7: it is missing',
      kept: 99,
      lost: 1,
      gaps: [{ from: 28_672, to: 28_672 }],
      head: 409_600,
      epoch: 'e',
    }
    const services = createServices(
      new Map(),
      ['0'],
      [
        { folder: '/data/quarantine/a', report },
        { folder: '/data/quarantine/b', report: undefined },
      ],
    )
    const { out } = await run(['status'], { services })
    expect(out).to.include(
      'The event log was damaged (event 7: it is missing) and was set aside at 2026-11-22T13:00:00.000Z: 99 events kept, 1 lost. It lies in /data/quarantine/a.',
    )
    expect(out).to.include('A damaged log lies in /data/quarantine/b.')
    const { out: asJson } = await run(['status', '--json'], { services })
    const { name: log, at, reason, kept, lost } = report
    const nothing = { log: null, kind: null, at: null, reason: null, kept: null, lost: null }
    expect((JSON.parse(asJson) as { quarantines: unknown }).quarantines).to.deep.equal([
      { log, kind: 'damaged', at, folder: '/data/quarantine/a', reason, kept, lost },
      { ...nothing, folder: '/data/quarantine/b' },
    ])
  })

  it('names a disk that is full, and what telemetry is not because of that', async () => {
    const services = createServices(new Map(), ['0'], [], [{ folder: '/data/index', not: 'folded' }])
    const { out } = await run(['status'], { services })
    expect(out).to.include(
      'The disk of /data/index is full: no telemetry is folded. Free some space; throughline drop BUILD may do.',
    )
    const ofLog = createServices(new Map(), ['0'], [], [{ folder: '/data/log', not: 'accepted' }])
    const { out: said } = await run(['status'], { services: ofLog })
    expect(said, 'it gives no room there').to.include('no telemetry is accepted. Free some space.')
    const used = createServices(new Map(), ['0'], [], [{ folder: '/data', not: 'accepted or folded', lacks: 'inodes' }])
    expect((await run(['status'], { services: used })).out).to.include(
      'The disk of /data has no inode left (df -i): no telemetry is accepted or folded that takes another file. Remove files there.',
    )
  })
})
