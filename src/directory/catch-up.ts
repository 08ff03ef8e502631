import { setTimeout as pause } from 'node:timers/promises'
import type { Position } from '#src/events/envelope.ts'
import { inTime } from '#src/lib/in-time.ts'
import type { Stream } from '#streams/stream.ts'

/** How long reading the log's head may take, then how long the view may take to get there, and the least time between two reads. */
const timeoutMs = 1_000
const pauseMs = 50

type Options = Readonly<{
  stream: Pick<Stream, 'head'>
  /** Whether the view reaches a position within so many milliseconds. */
  followed: (position: Position, timeoutMs: number) => Promise<boolean>
}>

/**
 * Reads the log's head and waits until the view gets there. Callers that wait at the same time share one read, so there are at most twenty
 * a second, however many ask.
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
    // This read may miss what is appended from now on, so later callers wait for the next read.
    next = undefined
    const found = look()
    before = found.then(() => pause(pauseMs, undefined, { ref: false }))
    return found
  }
  return () => (next ??= lookNext())
}
