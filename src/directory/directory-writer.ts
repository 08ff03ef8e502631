import { sealDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { ConflictError, type Expected, type Stream } from '#streams/stream.ts'
import type { HeldView } from './directory-view.ts'
import type { RandomBytes } from './keys.ts'

/** A refused command: what was wrong with which field. Nothing was written. */
export type Refused = Readonly<{
  code: 'exists' | 'unknown' | 'invalid'
  field: string
  detail: string
  /** `exists`, of a key: which one there is. */
  keyId?: string
}>
export const refuse = (code: Refused['code'], field: string, detail: string) => fail<Refused>({ code, field, detail })

export const noSuchWorkspace = refuse('unknown', 'workspace', 'There is no such workspace.')

/** What commands work with: the view to decide from, and the log to write to. */
export type DirectoryWriter = Readonly<{
  view: HeldView
  random: RandomBytes
  clock: Clock
  /** `w`, `u`, `k` and 16 hex characters. */
  newId: (letter: string) => string
  /** Appends all in one step; resolves when they are durable and the view shows them. Rejects as the stream does. */
  write: (events: readonly DirectoryEvent[]) => Promise<Position>
  /**
   * The same, but writes nothing and returns false if another process was first with `subject` (after `position`, if the subject was used
   * before).
   */
  writeFirst: (
    events: readonly DirectoryEvent[],
    subject: string,
    position?: Position,
  ) => Promise<Result<Position, 'conflict'>>
}>

type Options = Readonly<{
  stream: Stream
  view: HeldView
  clock: Clock
  random: RandomBytes
  /** Resolves true when the view reaches the position, false after the time. */
  followed: (position: Position, timeoutMs: number) => Promise<boolean>
  followTimeoutMs: number
}>

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export function createDirectoryWriter(options: Options): DirectoryWriter {
  const { stream, view, clock, random, followed, followTimeoutMs } = options
  async function append(events: readonly DirectoryEvent[], expected?: Expected): Promise<Position> {
    const at = clock()
    const sealed = events.map((event) => sealDirectoryEvent(event, at, hex(random(16))))
    const { last } = await stream.append(sealed, expected)
    if (!(await followed(last, followTimeoutMs))) {
      const hint = 'it is written; this process is slow to follow'
      throw new TransientError({ operation: 'follow', subject: 'directory', hint })
    }
    return last
  }
  return {
    view,
    random,
    clock,
    newId: (letter) => letter + hex(random(8)),
    write: (events) => append(events),
    writeFirst: async (events, subject, position = beforeAll) => {
      try {
        return ok(await append(events, { subject, position }))
      } catch (error) {
        if (error instanceof ConflictError) return fail('conflict')
        throw error
      }
    },
  }
}
