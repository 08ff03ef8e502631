import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { rebuild } from '#projections/builds/rebuild.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { openBuilds } from '#src/compose/builds.ts'
import { explain } from '#src/compose/failure.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { foldInThreads, workersFor } from '#src/compose/threads/fold-threads.ts'
import { limits } from '#src/config.ts'
import { noCounts, positionStep } from '#src/events/envelope.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeEvent } from '../support/make-event.ts'
import { makeFirstRun } from '../support/first-run.ts'
import { rejection } from '../support/read-all.ts'

const threadFile = new URL('../../src/compose/threads/fold-thread.ts', import.meta.url)

describe('the workers of a rebuild', () => {
  let dataFolder = ''
  let threads = 0
  const count = ({ threadName }: Worker): void => void (threads += threadName?.startsWith('fold ') ? 1 : 0)
  beforeEach(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-folds-'))
    await makeFirstRun(dataFolder)
    threads = 0
    process.on('worker', count)
  })
  afterEach(() => {
    process.off('worker', count)
    rmSync(dataFolder, { recursive: true })
  })

  async function appendLogs(events: number): Promise<void> {
    const { log, logFolder } = foldersOf(dataFolder)
    mkdirSync(logFolder, { recursive: true })
    const stream = await createSqliteStream({ ...log, thread: false, limits })
    for (let n = 0; n < events; n++) {
      const payload = Buffer.from(JSON.stringify({ message: `line ${n}` }))
      const counts = { ...noCounts, logs: 1, bytes: payload.length }
      const how = { type: 'logs.received', contentType: 'application/json', receivedAt: Date.now() } as const
      await stream.append([makeEvent(`line-${n}`, { ...how, counts, payload })])
    }
    await stream.close()
  }

  /** How many entries a rebuild finds right: a log record and its event each. And whether it started threads to fold. */
  async function rebuilt(events: number): Promise<readonly [entries: number | undefined, hasThreads: boolean]> {
    await appendLogs(events)
    const context = await openBuilds(dataFolder)
    try {
      const logs = context.projections.filter(({ name }) => name === 'logs')
      const [done] = await rebuild(context, logs)
      expect(done?.verdict.equal).to.equal(true)
      return [done?.verdict.workspaces[0]?.entries, threads > 0]
    } finally {
      await context.close()
    }
  }

  it('are threads where there is much to fold', async () => {
    expect(await rebuilt(40)).to.deep.equal([80, true])
  })

  it('say in one line what failed them, as the caller itself would', async () => {
    const log = { file: join(dataFolder, 'none.db'), partition: '0' }
    const fold = foldInThreads(log, { folder: join(dataFolder, 'index') })
    const failed = (events: number) =>
      rejection(
        fold([{ builds: [], events, share: { number: 0, of: 1 } }], () => undefined, new AbortController().signal),
      )
    const [inThread, here] = [await failed(40), await failed(1)]
    expect([inThread.name, explain(inThread)]).to.deep.equal([here.name, explain(here)])
    expect(explain(inThread)).to.not.contain('\n')
    expect(threads).to.equal(1)
  })

  it('are told when they are ahead, and then give way to the last one', async function () {
    await appendLogs(40)
    const log = { file: foldersOf(dataFolder).log.file, partition: '0' }
    const index = { folder: join(dataFolder, 'index') }
    const told: unknown[] = []
    const report = (worker: Worker): void => {
      worker.postMessage = (message) => void told.push([worker.threadName, message])
      worker.emit('message', worker.threadName === 'fold 1' ? 100 * positionStep : 0)
    }
    process.on('worker', report)
    const shares = [0, 1].map((number) => ({ builds: [], events: 40, share: { number, of: 2 } }))
    await foldInThreads(log, index)(shares, () => undefined, new AbortController().signal)
    process.off('worker', report)
    expect(told).to.deep.equal([['fold 1', 'ahead']])
  })

  it('give way once they are told', async function () {
    // Elsewhere a priority is not a thread's own.
    if (platform() !== 'linux') this.skip()
    await appendLogs(1)
    const log = { file: foldersOf(dataFolder).log.file, partition: '0' }
    const index = { folder: join(dataFolder, 'index') }
    const builds = [{ projection: 'logs', index: buildName(logsProjection, 1), after: 0, until: positionStep }]
    const workerData = { log, index, task: { builds, events: 1, share: { number: 0, of: 1 } } }
    const atItsEnd = `import { getPriority } from 'node:os'
      process.on('exit', () => process.stdout.write(String(getPriority())))`
    const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(atItsEnd)}`]
    const thread = new Worker(threadFile, { workerData, execArgv, stdout: true })
    thread.postMessage('ahead')
    expect(await text(thread.stdout)).to.equal('19')
  })

  it('are its own thread where there are a few events, which are folded before a thread has begun', async () => {
    expect(await rebuilt(4)).to.deep.equal([8, false])
  })
  it('have folded nothing where they end before they are done: the rebuild fails', async () => {
    const end = (worker: Worker): void => void worker.terminate()
    process.on('worker', end)
    const outcome = await rebuilt(40).catch((error: unknown) => error)
    process.off('worker', end)
    expect(outcome)
      .to.be.an('error')
      .with.property('message')
      .that.matches(/^fold \d+ ended with \d+ before it had folded its share$/)
    expect(await rebuilt(0)).to.deep.equal([80, true])
  })
})

it('workers of a fold are as many as the processors, two at least, if there is memory for so many of the largest events', () => {
  const gib = 1024 ** 3
  expect([1, 2, 8].map((processors) => workersFor(processors, 64 * gib))).to.deep.equal([2, 2, 8])
  expect([0.5, 1, 2, 3, 4].map((size) => workersFor(8, size * gib))).to.deep.equal([1, 1, 2, 3, 4])
})
