import { expect } from 'chai'
import { beforeAll as beforeEvents, type NewEvent, type RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'

/** An event as a log gives it back: whatever kind of bytes its payload was in. */
export const stored = (event: NewEvent): NewEvent => ({ ...event, payload: Buffer.from(event.payload) })
export const idsOf = (events: readonly NewEvent[]): string[] => events.map(({ id }) => id)
export function withoutPosition(event: RecordedEvent): NewEvent {
  const { position: _, ...rest } = event
  return stored(rest)
}
/** A signal that never aborts. */
export const never = (): AbortSignal => new AbortController().signal

/** What a promise rejects with; fails when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(outcome).to.be.instanceOf(Error)
  return outcome as Error
}

/** All events of a stream, read in small steps. */
export async function readAll(stream: Pick<Stream, 'read'>, max = 100): Promise<readonly RecordedEvent[]> {
  const all: RecordedEvent[] = []
  for (;;) {
    const events = await stream.read(all.at(-1)?.position ?? beforeEvents, max)
    if (events.length === 0) return all
    all.push(...events)
  }
}
