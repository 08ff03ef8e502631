import type { Clock } from '#src/lib/clock.ts'
import { explain } from './failure.ts'

/** A trouble that is not heard of for this long is over: each attempt fails sooner, even if a server gives no answer. */
const quietMs = 90_000
/** How long a recovered subject must stay quiet before its recovery is told; `quietMs` if one was told lately, as a trouble may come and go. */
const calmMs = 10_000
/** How often a trouble that stays is told again. */
const repeatMs = 600_000

type Times = { heardAt: number; toldAt: number }
type Lines = Map<string, Times>

/** Reports troubles that each attempt meets again, without repeating itself. */
export type Troubles = Readonly<{
  /** Tells the line, unless the same was told of this subject lately and has been heard since. By default, numbers make no difference. */
  hear(subject: string, line: string): void
  /** The subject can do again what failed. Silence alone does not say so: it may wait for something else. */
  recovered(subject: string): void
  /** Tells which subjects have recovered and stayed quiet for a while since. To be called from time to time. */
  sweep(): void
  /** Forgets these subjects: what is heard of them next is news. */
  forget(isMeant: (subject: string) => boolean): void
}>

const withoutNumbers = (line: string): string => line.replace(/\d+(?:\.\d+)*/g, '#')

type TroublesOptions = Readonly<{ clock: Clock; tell?: (line: string) => void; keyOf?: (line: string) => string }>

/** `tell`: to standard error by default. `keyOf`: the same for two lines that tell the same. */
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
      // Lines may differ each time, as by the address of a request: those that are not heard again are dropped.
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

/** Reports a task that is tried again until it succeeds: why it fails, without repeating itself. `what`: what could not be done. */
export function createRetryReport(clock: Clock, what: string): (error: unknown) => void {
  const troubles = createTroubles({ clock })
  return (error) => troubles.hear(what, `${what}: ${explain(error)}`)
}
