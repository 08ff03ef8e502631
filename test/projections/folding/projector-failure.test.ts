import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import type { ProjectionFailure } from '#projections/folding/open-lanes.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append, atHead, start, totals } from '#test/support/projector-run.ts'

describe('the projector, when something fails or it is to stop', () => {
  it('goes on where it failed, not behind that, where the heartbeat lets it go on between two batches', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    await append(stream, [
      ['a', 'b', 'c'],
      ['d', 'e', 'f'],
      ['g', 'h', 'i'],
    ])
    let failures = 1
    const writer: IndexWriter = {
      ...store.writer,
      write: async (...given) => {
        if (failures-- > 0) {
          run.tick()
          throw new TransientError({ operation: 'write', subject: 'a red index' })
        }
        await store.writer.write(...given)
      },
    }
    const run = start({ stream, writer })
    await run.until(await atHead(stream))
    expect(Object.keys(await totals(store.reader)).join('')).to.equal('abcdefghi')
    await run.stop()
  })

  it('tries again only with the next heartbeat where an index is away', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const failures: ProjectionFailure[] = []
    let isAway = true
    const writer: IndexWriter = {
      ...store.writer,
      async write(name, ...more) {
        if (isAway && failures.length < 10 && name.startsWith('counting'))
          throw new TransientError({ operation: 'write', subject: name })
        await store.writer.write(name, ...more)
      },
    }
    await append(
      stream,
      Array.from({ length: 20 }, (_, n) => [`line ${n}`]),
    )
    const head = await stream.head()
    const recovered: string[] = []
    const run = start({ stream, writer, projections: [counting, mirror], failures, recovered })
    await run.until(({ position }, name) => name.startsWith('mirror') && position >= head)
    expect([failures.length, recovered]).to.deep.equal([1, ['mirror']])
    isAway = false
    run.tick()
    await run.until(({ position }, name) => name.startsWith('counting') && position >= head)
    run.tick()
    await run.until(({ at }) => at >= 1_002_000)
    await run.stop()
    expect([failures.length, recovered], 'told once').to.deep.equal([1, ['mirror', 'counting']])
  })

  it('tells that a projection folds once it does at first, as one that stopped before the start and was mended', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    let isBroken = true
    const writer: IndexWriter = {
      ...store.writer,
      async write(name, ...more) {
        if (isBroken && name.startsWith('counting')) throw new PermanentError({ operation: 'write', subject: name })
        await store.writer.write(name, ...more)
      },
    }
    await append(stream, [['line']])
    const head = await stream.head()
    const recovered: string[] = []
    for (let time = 0; time < 2; time++) {
      const run = start({ stream, writer, recovered })
      expect(await run.ended.catch((error: Error) => error.name)).to.equal('PermanentError')
    }
    expect(recovered).to.deep.equal([])
    isBroken = false
    const run = start({ stream, writer, recovered })
    await run.until(({ position, at }) => position >= head && at >= 1_000_000)
    run.tick()
    await run.until(({ at }) => at >= 1_001_000)
    await run.stop()
    expect(recovered).to.deep.equal(['counting'])
  })

  it('goes on where the builds of one projection cannot be asked, while those of another are slow to come', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const failures: ProjectionFailure[] = []
    // A rejection that nobody waits for yet would end the process.
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    let isAway = false
    const writer: IndexWriter = {
      ...store.writer,
      async roster(projection) {
        if (!isAway) return store.writer.roster(projection)
        if (projection === 'mirror') {
          isAway = false
          throw new TransientError({ operation: 'ask', subject: 'what is away' })
        }
        await setImmediate()
        return store.writer.roster(projection)
      },
    }
    const run = start({ stream, writer, projections: [counting, mirror], failures })
    await run.until(() => true)
    isAway = true
    run.tick()
    await run.until(({ at }) => at > 1_000_000)
    await append(stream, [['a']])
    await run.until(await atHead(stream))
    await run.stop()
    process.off('unhandledRejection', note)
    expect(failures.map(({ projection, retried }) => [projection, retried])).to.deep.equal([['mirror', true]])
    expect(unhandled).to.deep.equal([])
  })

  it('ends with the failure where nothing comes, and its last build or the log cannot be asked any more', async () => {
    const away = new PermanentError({ operation: 'ask', subject: 'what is away' })
    for (const what of ['index', 'log']) {
      const stream = createMemoryStream({ partition: '0' })
      const store = createMemoryIndexStore()
      let isAway = false
      const fail = async (): Promise<void> => {
        if (isAway) throw away
      }
      const log: Stream = { ...stream, head: () => (what === 'log' ? fail() : Promise.resolve()).then(stream.head) }
      const heartbeat: IndexWriter['heartbeat'] = (...told) =>
        (what === 'index' ? fail() : Promise.resolve()).then(() => store.writer.heartbeat(...told))
      const run = start({ stream: log, writer: { ...store.writer, heartbeat } })
      await run.until(() => true)
      isAway = true
      run.tick()
      expect(await run.ended.catch((error: unknown) => error), what).to.equal(away)
    }
  })

  it('ends once nothing is under way any more, so that what it writes to may be closed', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const store = createMemoryIndexStore()
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const steps: string[] = []
    let isSlow = false
    const writer: IndexWriter = {
      ...store.writer,
      async heartbeat(...told) {
        if (isSlow) {
          begun.resolve()
          await goOn.promise
          steps.push('told')
        }
        await store.writer.heartbeat(...told)
      },
    }
    const run = start({ stream, writer })
    await run.until(() => true)
    isSlow = true
    run.tick()
    await begun.promise
    const stopped = run.stop().then(() => steps.push('ended'))
    void setImmediate().then(goOn.resolve)
    await stopped
    expect(steps).to.deep.equal(['told', 'ended'])
  })
})
