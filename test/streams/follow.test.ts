import { expect } from 'chai'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { follow } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { rejection } from '../support/read-all.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'

describe('follow', () => {
  it('gives batches in order, an empty one at the head, and what comes later', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const controller = new AbortController()
    const events = makeEvents(5)
    await stream.append(events.slice(0, 4))
    const batches: string[][] = []
    for await (const batch of follow(stream, 4096, 2, controller.signal)) {
      batches.push(batch.map(({ id }) => id.slice('acme.traces.'.length)))
      if (batches.length === 3) void Promise.resolve().then(() => stream.append(events.slice(4)))
      if (batch.at(-1)?.id === events[4]?.id) controller.abort()
    }
    expect(batches).to.deep.equal([['event-1', 'event-2'], ['event-3'], [], ['event-4']])
  })

  it('ends when the signal aborts while it waits', async () => {
    const controller = new AbortController()
    const batches: (readonly RecordedEvent[])[] = []
    for await (const batch of follow(createMemoryStream({ partition: '0' }), 0, 2, controller.signal)) {
      batches.push(batch)
      setImmediate(() => controller.abort())
    }
    expect(batches).to.deep.equal([[]])
  })

  it('gives all before an event that only a newer program knows, and stops there', async () => {
    const stream = createMemoryStream({ partition: '0' })
    await stream.append([makeEvent('known'), makeEvent('newer', { schemaVersion: 2 }), makeEvent('known too')])
    const seen: string[] = []
    const failure = await rejection(
      (async () => {
        for await (const batch of follow(stream, 0, 10, new AbortController().signal)) {
          seen.push(...batch.map(({ id }) => id))
        }
      })(),
    )
    expect(seen).to.deep.equal(['acme.traces.known'])
    expect(failure).to.be.instanceOf(PermanentError)
    expect(failure.message).to.contain('upgrade')
  })
})
