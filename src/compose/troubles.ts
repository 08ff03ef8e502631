import type { Clock } from '#src/lib/clock.ts'
import { explain } from './failure.ts'

/** Longer than one attempt takes to fail, also where a server gives no answer: a trouble that is silent for longer is over. */
const quietMs = 90_000
/** How often a trouble that stays is told again. */
const repeatMs = 600_000

type Times = { heardAt: number; toldAt: number }

/** What is told of troubles that are met again at each attempt. */
export type Troubles = Readonly<{
  /** Tells it, unless it was told of this subject lately and has been heard since; numbers in it tell no difference. */
  hear(subject: string, line: string): void
  /** Tells of each subject of which nothing was heard for a while that it goes on. To be called from time to time. */
  sweep(): void
  /** What is heard next of these subjects is news. */
  forget(isMeant: (subject: string) => boolean): void
}>

type TroublesOptions = Readonly<{ clock: Clock; tell?: (line: string) => void }>

/** `tell`: on standard error, unless it is given. */
export function createTroubles({ clock, tell = (line) => console.error(line) }: TroublesOptions): Troubles {
  const known = new Map<string, Map<string, Times>>()
  const isQuiet = ({ heardAt }: Times): boolean => clock() - heardAt > quietMs
  return {
    hear(subject, line) {
      const now = clock()
      const key = line.replace(/\d+(?:\.\d+)*/g, '#')
      const lines = known.get(subject) ?? new Map<string, Times>()
      known.set(subject, lines)
      // Each line of a trouble may have other words, as of a request: what was not heard again is no longer held.
      for (const [other, times] of lines) if (isQuiet(times)) lines.delete(other)
      const before = lines.get(key)
      const isNews = before === undefined || now - before.toldAt >= repeatMs
      lines.set(key, { heardAt: now, toldAt: isNews ? now : before.toldAt })
      if (isNews) tell(line)
    },
    sweep() {
      for (const [subject, lines] of known) {
        if (![...lines.values()].every(isQuiet)) continue
        known.delete(subject)
        tell(`${subject} goes on`)
      }
    },
    forget(isMeant) {
      for (const subject of known.keys()) if (isMeant(subject)) known.delete(subject)
    },
  }
}

/** Tells what fails at each attempt until it does not, and why: `what` names what could not be done. */
export function createRetryReport(clock: Clock, what: string): (error: unknown) => void {
  const troubles = createTroubles({ clock })
  return (error) => troubles.hear(what, `${what}: ${explain(error)}`)
}
