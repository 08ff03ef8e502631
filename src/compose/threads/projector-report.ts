import type { LeftOut } from '#projections/folding/lane.ts'
import type { Beside } from '#projections/folding/lanes.ts'
import { createClock } from '#src/lib/clock.ts'
import { dayOf } from '#src/lib/day.ts'
import { shownInLine, shownSafely } from '#src/lib/shown-safely.ts'
import { createTroubles } from '../troubles.ts'
import type { Failed, ProjectorMessage, RetentionDone, RetentionFailed, RetentionWaits } from './projector-messages.ts'

// What the operator and the metrics hear of a projector's thread.

type Tell = (line: string) => void

const describeFailed = ({ projection, reason, retried }: Failed): string =>
  `projection ${projection} ${retried ? 'is tried again' : 'has stopped'}: ${reason}`

const describeLeftOut = ({ projection, position, reason }: LeftOut): string =>
  `projection ${projection} leaves out the event at ${position} (see throughline dead-letters list): ${shownInLine(reason)}`

/** Happens after an upgrade, among others: answers are not complete until readers move. */
function describeBeside({ projection, index, live, moved }: Beside): string {
  if (moved) return `projection ${projection}: readers use ${index} now; ${live} is kept to roll back to`
  return `projection ${projection} is folded into ${index}; readers use ${live} until that has caught up`
}

const describeNotRetained = ({ partition, reason }: RetentionFailed): string =>
  `expired data of partition ${partition} could not be removed; trying again: ${reason}`

function describeWait(wait: RetentionWaits): string {
  const [since, until] = [wait.since, wait.until].map((at) => new Date(at).toISOString())
  return `partition ${wait.partition} has received nothing since ${since}: what has expired is removed at ${until}; if this machine's clock is ahead, stop the server before`
}

/** Which builds keep logs from being cut, partition by partition; the operator is told of changes. */
function createHolding(tell: Tell) {
  const held = new Map<string, readonly string[]>()
  return {
    hear({ partition, heldBy, givenUp }: RetentionDone): void {
      const before = held.get(partition) ?? []
      held.set(partition, heldBy)
      for (const build of givenUp)
        tell(`${build} of partition ${partition} has not been folded for too long and is removed`)
      if (heldBy.length === 0 || heldBy.join() === before.join()) return
      tell(
        `the log of partition ${partition} is kept for longer than needed: ${heldBy.join(', ')} has not folded its beginning yet (see throughline builds)`,
      )
    },
    forget: (partition: string): void => void held.delete(partition),
    clear: (): void => held.clear(),
    count: (): number => [...held.values()].reduce((sum, { length }) => sum + length, 0),
  }
}

/** Tells the day that retention has reached in each partition where it is behind. */
function createStanding(tell: Tell) {
  const told = new Map<string, string>()
  return ({ partition, standsAt }: RetentionDone): void => {
    if (standsAt === undefined) return void told.delete(partition)
    const day = dayOf(standsAt)
    if (told.get(partition) === day) return
    told.set(partition, day)
    tell(
      `more than a day of the log of partition ${partition} has expired: it goes day by day, as on ${day} by now, as after a time off; if this machine's clock is ahead, stop the server before more goes (see "Retention" in infra/operating.md)`,
    )
  }
}

/**
 * Without numbers that stand alone, such as how far a log goes, which differ at each attempt. Numbers within names stay: they tell builds and the
 * files of days apart.
 */
const withoutLoneNumbers = (line: string): string => line.replace(/(?<![\w.-])\d+(?![\w-])/g, '#')

/** Reports failures: what is tried again is told once, and again when it has recovered; so is what stops a projection. */
function createFailures(tell: Tell) {
  const troubles = createTroubles({ clock: createClock(), tell })
  // Apart from those, which are forgotten when a partition ceases or the thread ends: what stops all projections of a partition ends its fold,
  // which is begun again, and stops again, for as long as an older program folds indexes of a newer one.
  const stops = createTroubles({ clock: createClock(), tell, keyOf: withoutLoneNumbers })
  return {
    hear(failed: Failed): void {
      const subject = `projection ${failed.projection}`
      if (failed.retried) return troubles.hear(subject, describeFailed(failed))
      troubles.forget((one) => one === subject)
      stops.hear(subject, describeFailed(failed))
    },
    threadFailed: (reason: string): void =>
      stops.hear('the projector', `the projector has ended: ${shownSafely(reason)}`),
    recovered(projection: string): void {
      const subject = `projection ${projection}`
      troubles.recovered(subject)
      stops.forget((one) => one === subject)
    },
    sweep: troubles.sweep,
    clear: (): void => troubles.forget(() => true),
    forget: (partition: string): void => troubles.forget((subject) => subject.endsWith(` of partition ${partition}`)),
  }
}

export type ProjectorReport = Readonly<{
  hear(message: ProjectorMessage): void
  /** To be called from time to time: tells what has recovered. */
  sweep(): void
  /** The thread ends by this failure. */
  failed(reason: string): void
  /** The thread has ended, and folds nothing. */
  ended(): void
  /** The partitions that are folded now. */
  folded(): readonly string[]
  /** How many days of indexes were dropped. */
  daysDropped(): number
  /** How many builds keep logs from being cut. */
  buildsHolding(): number
}>

/** Where lines go. By default troubles go to standard error, and news to standard output. */
type Lines = Readonly<{ tell?: Tell; tellNews?: Tell }>

export function createProjectorReport({
  tell = (line) => console.error(line),
  tellNews = (line) => console.log(line),
}: Lines = {}): ProjectorReport {
  const folded = new Set<string>()
  let dropped = 0
  const failures = createFailures(tell)
  // Apart from those, which are forgotten when a partition ceases: where its log cannot be folded, a run fails at each attempt to.
  const notRetained = createTroubles({ clock: createClock(), tell })
  const holding = createHolding(tell)
  const hearStanding = createStanding(tell)

  const retained = (done: RetentionDone): void => {
    dropped += done.dropped
    hearStanding(done)
    holding.hear(done)
  }
  const ceased = (partition: string): void => {
    folded.delete(partition)
    holding.forget(partition)
    failures.forget(partition)
  }
  return {
    hear(message) {
      switch (message.kind) {
        case 'began':
          return void folded.add(message.partition)
        case 'ceased':
          return ceased(message.partition)
        case 'failed':
          return failures.hear(message)
        case 'recovered':
          return failures.recovered(message.projection)
        case 'leftOut':
          return tell(describeLeftOut(message))
        case 'beside':
          return tellNews(describeBeside(message))
        case 'retained':
          return retained(message)
        case 'notRetained':
          return notRetained.hear(message.partition, describeNotRetained(message))
        case 'retentionWaits':
          return tell(describeWait(message))
      }
    },
    sweep: failures.sweep,
    failed: failures.threadFailed,
    ended: () => {
      folded.clear()
      holding.clear()
      // The next thread does not know what has failed in this one, and tells of no recovery from it.
      failures.clear()
    },
    folded: () => [...folded],
    daysDropped: () => dropped,
    buildsHolding: holding.count,
  }
}
