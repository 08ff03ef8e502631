import { setTimeout as pause } from 'node:timers/promises'
import type { Position } from '#src/events/envelope.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Stream } from '#streams/stream.ts'

/** How long a look at the log may take, and the view then; and the least time from one look to the next. */
const timeoutMs = 1_000
const pauseMs = 50

type Options = Readonly<{
  stream: Pick<Stream, 'head'>
  /** Whether the view has come to a position within so many milliseconds. */
  followed: (position: Position, timeoutMs: number) => Promise<boolean>
}>

/**
 * Looks where the log ends and waits until the view is there. Who asks while others wait shares their look, so whoever asks, and
 * how often: there are twenty a second at most.
 */
export function createCatchUp({ stream, followed }: Options): () => Promise<boolean> {
  let before: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | undefined
  const look = async (): Promise<boolean> => {
    const head = await inTime(stream.head(), timeoutMs)
    return head !== undefined && followed(head, timeoutMs)
  }
  const lookNext = async (): Promise<boolean> => {
    await before
    // What comes into the log from now on may be missed: who asks now waits for the look after this one.
    next = undefined
    const found = look()
    before = found.then(() => pause(pauseMs, undefined, { ref: false }))
    return found
  }
  return () => (next ??= lookNext())
}
