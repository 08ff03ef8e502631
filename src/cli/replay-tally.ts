import type { Position } from '#src/events/envelope.ts'
import { ok } from '#src/lib/result.ts'
import type { Rejected } from './replay-answer.ts'
import type { PlacedEvent } from './replay-file.ts'

/** How many events with refused records are listed. */
const rejectionsMax = 20

/** Counts what became of the events, and lists the first ones of which something was refused. */
export function createTally() {
  const counts = { events: 0, left_out: 0, rejected: 0 }
  const rejections: { partition: string; position: Position; rejected: number; reason: string | null }[] = []
  let refusedEvents = 0
  return {
    add({ partition, event }: PlacedEvent, rejected: Rejected | undefined): void {
      if (rejected === undefined) {
        counts.left_out++
        return
      }
      counts.events++
      if (rejected.records === 0) return
      counts.rejected += rejected.records
      if (++refusedEvents > rejectionsMax) return
      const reason = rejected.reason ?? null
      rejections.push({ partition, position: event.position, rejected: rejected.records, reason })
    },
    done(what: string) {
      const rest = counts.left_out === 0 ? '' : ` ${counts.left_out} did not come from a sender and were left out.`
      const refused =
        refusedEvents === 0 ? '' : `\n${counts.rejected} records in ${refusedEvents} of them were refused there:`
      const first = rejections.map(
        ({ partition, position, rejected, reason }) =>
          `\n${partition}/${position}: ${rejected}${reason === null ? '' : `, ${reason}`}`,
      )
      const more = refusedEvents > rejections.length ? `\n… and of ${refusedEvents - rejections.length} more` : ''
      const text = what === '' ? '' : `${counts.events} events ${what}.${rest}${refused}${first.join('')}${more}`
      return ok({ json: { ...counts, rejections }, text, exitCode: refusedEvents === 0 ? 0 : 1 })
    },
  }
}
