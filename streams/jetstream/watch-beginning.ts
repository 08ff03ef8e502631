import { systemTicks, type Ticks } from '#src/lib/clock.ts'
import { byAnotherHand } from './stored.ts'
import type { Ends } from './stream-state.ts'
import type { LogName } from './subjects.ts'

/** An age limit takes message after message. So after a warning, further losses are told together, this much later. */
const quietMs = 600_000

export type Telling = Readonly<{
  /** Whether a message is there, or an erasure says why not. */
  isExplained(sequence: number): Promise<boolean>
  warn(line: string): void
  ticks?: Ticks
}>

/**
 * Warns if the beginning of an open log is gone and neither retention nor an erasure took it. Readers that are past it do not notice, so without
 * this nobody would say so before the next run of retention. That run also tells what was missing when the log was opened. Call what this returns
 * when a look at the log's ends begins, and what that returns with the ends found. If looks overlap, none of them is the one before another.
 */
export function watchBeginning(
  log: LogName,
  opened: Ends,
  { isExplained, warn, ticks = systemTicks }: Telling,
): () => (ends: Ends) => Promise<void> {
  // The last missing message that is known of, and the last one of the look before.
  let known = opened.first - 1
  let found = known
  let quietUntil = -Infinity
  const see = async (before: number, { first, cut }: Ends): Promise<void> => {
    // A leader elected just now may know of a cut, or an erasure, only a moment after it has made it: so it takes two looks. More may have gone since
    // the one before: of a log that is written all the time, an age limit takes something before each look.
    const hole = Math.min(first - 1, before)
    found = first - 1
    const isNew = hole > Math.max(known, cut) && ticks() >= quietUntil
    if (!isNew) return
    const formerly = known
    known = hole
    try {
      if (await isExplained(hole)) return
    } catch {
      // The next look asks again.
      known = formerly
      return
    }
    quietUntil = ticks() + quietMs
    warn(
      `stream ${log.stream} has lost its beginning, up to message ${hole}, and no retention dropped that: ${byAnotherHand(log)}`,
    )
  }
  return () => {
    const before = found
    return (ends) => see(before, ends)
  }
}
