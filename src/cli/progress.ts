import type { Clock } from '#src/lib/clock.ts'
import { positionStep } from '#src/events/envelope.ts'
import type { CliIo, VerbContext } from './verb.ts'

/** How far something is that follows the log from one position to another. */
type Step = Readonly<{ phase: string; position: number; from: number; until: number }>

const everyMs = { terminal: 200, json: 1_000 }
const barWidth = 24

const eventsOf = (positions: number): number => Math.max(0, Math.round(positions / positionStep))

type Told = Readonly<{ events: number; of: number; perSecond: number; leftSeconds: number | null }>

function rateOf({ position, from, until }: Step, sincePosition: number, elapsedMs: number): Told {
  const perSecond = elapsedMs === 0 ? 0 : (eventsOf(position - sincePosition) * 1_000) / elapsedMs
  const left = eventsOf(until - position)
  const leftSeconds = perSecond === 0 ? null : left / perSecond
  return {
    events: eventsOf(position - from),
    of: eventsOf(until - from),
    perSecond: Math.round(perSecond),
    leftSeconds,
  }
}

function barOf({ phase }: Step, { events, of, perSecond, leftSeconds }: Told): string {
  const done = of === 0 ? 1 : Math.min(1, events / of)
  const filled = Math.round(done * barWidth)
  const bar = `${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}`
  const left = leftSeconds === null ? '' : `, ${Math.ceil(leftSeconds)} s left`
  const percent = `${Math.floor(done * 100)}`.padStart(3)
  return `${phase.padEnd(7)}[${bar}] ${percent} %  ${events.toLocaleString('en')} events, ${perSecond.toLocaleString('en')}/s${left}`
}

/** A line that wraps could not be overwritten whole: it would leave a rest each time. The last column may wrap it too. */
const lineOf = (step: Step, told: Told, columns = 0): string =>
  // A terminal that does not know its width says 0.
  columns > 0 ? barOf(step, told).slice(0, columns - 1) : barOf(step, told)

/** Runs a task that reports how far it is. */
export async function withProgress<T>(
  { io, options, clock }: VerbContext,
  task: (tell: (step: Step) => void) => Promise<T>,
): Promise<T> {
  const progress = createProgress(io, options['json'] === true, clock)
  try {
    return await task((step) => progress.tell(step))
  } finally {
    progress.end()
  }
}

/**
 * Tells the operator how far something is: one line that changes on a terminal, a line of JSON a second with `--json`, else
 * a line for each phase. `end` leaves the terminal's line.
 */
function createProgress({ stdout, stderr }: CliIo, asJson: boolean, clock: Clock) {
  const isTerminal = stderr.isTTY === true && !asJson
  let phase: string | undefined
  let phaseAt = clock()
  let phasePosition = 0
  let toldAt = 0
  const show = (step: Step): void => {
    const now = clock()
    const told = rateOf(step, phasePosition, now - phaseAt)
    if (isTerminal) return void stderr.write(`\r\u001b[2K${lineOf(step, told, stderr.columns)}`)
    const { events, of, perSecond, leftSeconds } = told
    const left = leftSeconds === null ? null : Math.ceil(leftSeconds)
    const progress = {
      phase: step.phase,
      position: step.position,
      events,
      of,
      per_second: perSecond,
      left_seconds: left,
    }
    stdout.write(`${JSON.stringify({ progress })}\n`)
  }
  return {
    tell(step: Step): void {
      const isNew = step.phase !== phase
      if (isNew) {
        phase = step.phase
        phaseAt = clock()
        phasePosition = step.position
        if (!isTerminal && !asJson) stderr.write(`${phase} …\n`)
      }
      if (!isTerminal && !asJson) return
      if (!isNew && clock() - toldAt < (asJson ? everyMs.json : everyMs.terminal)) return
      toldAt = clock()
      show(step)
    },
    end(): void {
      if (isTerminal && phase !== undefined) stderr.write('\n')
    },
  }
}
