import type { Clock } from '#src/lib/clock.ts'
import { explain } from './failure.ts'

/** Longer than one attempt takes to fail, also where a server gives no answer: what is not heard for longer is no longer met. */
const quietMs = 90_000
/** How long nothing is heard of a subject that has recovered before that is told; `quietMs` where it was told lately, as a trouble may come and go. */
const calmMs = 10_000
/** How often a trouble that stays is told again. */
const repeatMs = 600_000

type Times = { heardAt: number; toldAt: number }
type Lines = Map<string, Times>

/** What is told of troubles that are met again at each attempt. */
export type Troubles = Readonly<{
  /** Tells it, unless it was told of this subject lately and has been heard since; unless `keyOf` is given, numbers in it tell no difference. */
  hear(subject: string, line: string): void
  /** It could do what it could not do when it was heard last. That it is silent says nothing: it may wait for something else. */
  recovered(subject: string): void
  /** Tells of each subject that has recovered, and of which nothing was heard for a while since, that it goes on. To be called from time to time. */
  sweep(): void
  /** What is heard next of these subjects is news. */
  forget(isMeant: (subject: string) => boolean): void
}>

const withoutNumbers = (line: string): string => line.replace(/\d+(?:\.\d+)*/g, '#')

type TroublesOptions = Readonly<{ clock: Clock; tell?: (line: string) => void; keyOf?: (line: string) => string }>

/** `tell`: on standard error, unless it is given. `keyOf`: what two lines that tell the same have in common. */
export function createTroubles({
  clock,
  tell = (line) => console.error(line),
  keyOf = withoutNumbers,
}: TroublesOptions): Troubles {
  const known = new Map<string, Lines>()
  const recovered = new Set<string>()
  const toldOver = new Map<string, number>()
  const isQuiet = ({ heardAt }: Times): boolean => clock() - heardAt > quietMs
  const isOver = (subject: string, lines: Lines): boolean => {
    const waitMs = clock() - (toldOver.get(subject) ?? -Infinity) < repeatMs ? quietMs : calmMs
    return recovered.has(subject) && [...lines.values()].every(({ heardAt }) => clock() - heardAt > waitMs)
  }
  return {
    hear(subject, line) {
      const now = clock()
      recovered.delete(subject)
      const key = keyOf(line)
      const lines = known.get(subject) ?? (new Map() as Lines)
      known.set(subject, lines)
      // Each line of a trouble may have other words, as of a request: what was not heard again is no longer held.
      for (const [other, times] of lines) if (isQuiet(times)) lines.delete(other)
      const before = lines.get(key)
      const isNews = before === undefined || now - before.toldAt >= repeatMs
      lines.set(key, { heardAt: now, toldAt: isNews ? now : before.toldAt })
      if (isNews) tell(line)
    },
    recovered(subject) {
      if (known.has(subject)) recovered.add(subject)
    },
    sweep() {
      for (const [subject, lines] of known) {
        if (!isOver(subject, lines)) continue
        toldOver.set(subject, clock())
        recovered.delete(subject)
        known.delete(subject)
        tell(`${subject} goes on`)
      }
    },
    forget(isMeant) {
      for (const about of [known, recovered, toldOver])
        for (const subject of about.keys()) if (isMeant(subject)) about.delete(subject)
    },
  }
}

/** Tells what fails at each attempt until it does not, and why: `what` names what could not be done. */
export function createRetryReport(clock: Clock, what: string): (error: unknown) => void {
  const troubles = createTroubles({ clock })
  return (error) => troubles.hear(what, `${what}: ${explain(error)}`)
}
