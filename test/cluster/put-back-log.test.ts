import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { positionStep, type NewEvent } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { present } from '#src/lib/assert.ts'
import { configOf } from '#streams/jetstream/stream-config.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import type { Stream } from '#streams/stream.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { lineEvent } from '#test/support/line-projections.ts'
import { atHead, start } from '#test/support/projector-run.ts'
import { events, expectLost, expectOther, failureOf, foldAhead } from '#test/support/put-back-log.ts'
import { makeJetStreamLog, type JetStreamLog } from '#test/streams/jetstream-log.ts'

/** The stream in an earlier state: under its epoch it holds these alone. */
async function putBack({ ask, name, open, prefix }: JetStreamLog, epoch: string, given: readonly NewEvent[]) {
  await ask(`STREAM.DELETE.${name}`)
  await ask(
    `STREAM.CREATE.${name}`,
    configOf(logName('0', prefix), { epoch, partitions: 1, replicas: 1, bytesMax: 2 ** 28 }),
  )
  const stream = await open()
  await stream.append(given)
  return stream
}

const endOf = ({ ended }: ReturnType<typeof start>): Promise<unknown> => ended.catch((error: unknown) => error)

describe('a stream of which an older state was put back', function () {
  this.timeout(enginesTimeoutMs)
  const stores = useElasticsearchStores()
  let log: JetStreamLog
  before(async () => {
    log = await makeJetStreamLog()
  })
  after(() => log.remove())

  it('is refused where it ends before what was folded ahead into Elasticsearch, each time, and when it has grown beyond that', async () => {
    const whole: Stream = await log.open()
    const { epoch } = whole
    await whole.append(events)
    const first = stores.makeWriter()
    await foldAhead(whole, first)
    await first.close()
    await whole.close()
    const [left] = await stores.makeWriter().builds('counting')
    const { checkpoint, heartbeat } = present(left, 'a build')
    expect(heartbeat.ahead?.position).to.equal(events.length * positionStep)
    const count = checkpoint / positionStep
    expect(count).to.be.below(events.length - 1)
    const restored = await putBack(log, epoch, [...events.slice(0, count), lineEvent(200, ['y'], 'small')])
    expect([restored.epoch, await restored.head()]).to.deep.equal([epoch, checkpoint + positionStep])
    for (let attempt = 0; attempt < 2; attempt++) {
      expectLost(await failureOf(restored, stores.makeWriter()), checkpoint + positionStep)
    }
    await restored.append(Array.from({ length: 60 }, (_, n) => lineEvent(300 + n, ['z'])))
    for (let attempt = 0; attempt < 2; attempt++) {
      expectOther(await failureOf(restored, stores.makeWriter()), events.length * positionStep)
    }
    await restored.close()
  })

  it('ends a projector that runs meanwhile, though nothing new comes', async () => {
    const own = await makeJetStreamLog()
    try {
      const whole: Stream = await own.open()
      await whole.append(events)
      const { writer } = createMemoryIndexStore()
      const first = start({ stream: whole, writer })
      await first.until(await atHead(whole))
      const kept = events.slice(0, 7)
      const restored = await putBack(own, whole.epoch, kept)
      let failure = await endOf(first)
      // It may have looked while there was no stream, and is then started again, as by its thread.
      while (failure instanceof TransientError) failure = await endOf(start({ stream: whole, writer }))
      expectLost(failure, kept.length * positionStep)
      await Promise.all([whole.close(), restored.close()])
    } finally {
      await own.remove()
    }
  })
})
