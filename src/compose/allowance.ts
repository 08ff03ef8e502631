import { randomBytes } from 'node:crypto'
import { createCountedSpans, type CountingOptions } from '#projections/allowance/counted-spans.ts'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { createLeavesOut } from '#projections/folding/left-out-spans.ts'
import { withOwnVersions } from '#projections/builds/own-versions.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { projections } from '#projections/registry.ts'
import { limits } from '#src/config.ts'
import { beginLedgers } from '#src/ingest/begin-ledgers.ts'
import { createReservedAllowance, type ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import { systemTicks, type Clock } from '#src/lib/clock.ts'
import { randomId } from '#src/lib/random-id.ts'
import { systemTimers } from '#src/lib/timers.ts'
import type { Stream } from '#streams/stream.ts'
import { createRetryReport } from './troubles.ts'

/** `4711-9f86d081884c7d65`: the process id, and a part that no other process with this id has. */
const holder = `${process.pid}-${randomBytes(8).toString('hex')}`

/** Whether the holder was a process of this machine and has ended. If its id is in use again, that is unknown. */
export function isProcessGone(holder: string): boolean {
  try {
    process.kill(Number.parseInt(holder, 10), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

type AllowanceOptions = Pick<CountingOptions, 'reader' | 'missed'> &
  Readonly<{
    stream: Stream
    clock: Clock
    /** Whether a holder has certainly ended. Never, if it may be on another machine: its spans are taken back when their time is over. */
    isGone: (holder: string) => boolean
  }>

/** The span allowance of the workspaces of one partition. */
export async function openAllowance({
  stream,
  clock,
  isGone,
  ...counting
}: AllowanceOptions): Promise<ReservedAllowance> {
  const ledgers = { stream, clock, holder, newId: randomId }
  await beginLedgers(ledgers)
  const reader = withOwnVersions(counting.reader, projections)
  const leavesOut = createLeavesOut(allowanceProjection, stream, createDeadLetters({ stream, clock }))
  return createReservedAllowance({
    ...ledgers,
    ticks: systemTicks,
    timers: systemTimers,
    random: Math.random,
    limits,
    isGone,
    counted: createCountedSpans({ ...counting, reader, clock, leavesOut }),
    onFailure: createRetryReport(clock, 'span allowances could not be settled, or not be counted; trying again'),
  })
}
