import { sealDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type NewEvent, type Position } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import type { Clock } from '#src/lib/clock.ts'
import { TransientError } from '#src/lib/failure.ts'
import { possibleTime } from '#src/lib/possible-clock.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { ConflictError, type Expected, type Stream } from '#streams/stream.ts'
import type { HeldView } from './directory-view.ts'
import type { RandomBytes } from './keys.ts'

/** A refused command: what was wrong with which field. Nothing was written, or nothing that has an effect, unless the detail says so. */
export type Refused = Readonly<{
  code: 'exists' | 'unknown' | 'invalid'
  field: string
  detail: string
  /** `exists`, of a key: which one there is. */
  keyId?: string
}>
export const refuse = (code: Refused['code'], field: string, detail: string) => fail<Refused>({ code, field, detail })

/** Also for a workspace that was erased at the same moment: what the command has written in it has no effect. */
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
   * The same, but writes nothing if another process has used the subject of the first event: the name, the e-mail or the key that it creates.
   * `freeSince`: the position where the subject was last given up.
   */
  writeFirst: (events: readonly DirectoryEvent[], freeSince?: Position) => Promise<Result<Position, 'conflict'>>
  /**
   * Decides from a view that shows every event of a subject, and writes that. Decides again if another process is first with the subject. Writes
   * nothing for an empty decision. The decided events must have the subject.
   */
  writeDecided: (
    subject: string,
    decide: () => Result<readonly DirectoryEvent[], Refused>,
  ) => Promise<Result<void, Refused>>
}>

type Options = Readonly<{
  stream: Stream
  view: HeldView
  clock: Clock
  /** The earliest time that the clock can have. */
  clockMinMs: number
  random: RandomBytes
  /** Resolves true when the view reaches the position, false after the time. */
  followed: (position: Position, timeoutMs: number) => Promise<boolean>
}>

/** How long what was written may take to come back to the view. */
const followTimeoutMs = 5_000
/** How often a decision is made again because another process was first. */
const attemptsMax = 16

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export function createDirectoryWriter(options: Options): DirectoryWriter {
  const { stream, view, clock, clockMinMs, random, followed } = options
  function seal(events: readonly DirectoryEvent[]): readonly NewEvent[] {
    // If the clock is impossible, a session or an overlap of keys that begins now would be over once the clock is right.
    const at = possibleTime(clockMinMs, clock(), {
      operation: 'write to',
      subject: 'the directory',
      hint: 'set it first',
    })
    return events.map((event) => sealDirectoryEvent(event, at, hex(random(16))))
  }
  async function follow(position: Position, hint: string): Promise<void> {
    if (await followed(position, followTimeoutMs)) return
    throw new TransientError({ operation: 'follow', subject: 'directory', hint })
  }
  async function append(events: readonly NewEvent[], expected?: Expected): Promise<Position> {
    const { last } = await stream.append(events, expected)
    await follow(last, 'it is written; this process is slow to follow')
    return last
  }
  /** As `append`; undefined where another was first with the subject. */
  async function appendFirst(events: readonly NewEvent[], expected: Expected): Promise<Position | undefined> {
    try {
      return await append(events, expected)
    } catch (error) {
      if (error instanceof ConflictError) return undefined
      throw error
    }
  }
  return {
    view,
    random,
    clock,
    newId: (letter) => letter + hex(random(8)),
    write: async (events) => append(seal(events)),
    writeFirst: async (events, freeSince = beforeAll) => {
      const sealed = seal(events)
      const subject = present(sealed[0]?.subject, 'what must be the first of its kind has a subject')
      const written = await appendFirst(sealed, { subject, position: freeSince })
      return written === undefined ? fail('conflict') : ok(written)
    },
    writeDecided: async (subject, decide) => {
      for (let attempt = 0; attempt < attemptsMax; attempt++) {
        const position = (await stream.last(subject))?.position ?? beforeAll
        await follow(position, 'this process is slow to follow')
        const decided = decide()
        if (!decided.ok) return decided
        if ((await appendFirst(seal(decided.value), { subject, position })) !== undefined) return ok(undefined)
      }
      const hint = 'others change the same at once: try again'
      throw new TransientError({ operation: 'write to', subject: 'directory', hint })
    },
  }
}
