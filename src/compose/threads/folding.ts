import { getPriority, platform, setPriority } from 'node:os'
import { createDecoder } from '#projections/decoded-event.ts'
import { createDecoders } from '#projections/decoders.ts'
import type { Folding } from '#projections/folding.ts'
import { projections } from '#projections/registry.ts'
import { limits } from '#src/config.ts'
import { createClock } from '#src/lib/clock.ts'
import { systemTimers } from '#src/lib/timers.ts'

/** What this program folds by; the log is the caller's. */
export const createFolding = (): Omit<Folding, 'stream'> => ({
  projections,
  decode: createDecoder(createDecoders(limits)),
  clock: createClock(),
  timers: systemTimers,
  limits,
})

/** Of what folds for readers; of what nobody waits for. */
export const niceness = { folding: 10, checking: 19 } as const

/**
 * On Linux a priority is a thread's own: one that folds leaves the processors to those who wait for an answer. One that has its maker's,
 * and gives way to more, keeps it: nobody but root may raise it again.
 */
export function giveWay(to: number = niceness.folding): void {
  if (platform() === 'linux' && getPriority() < to) setPriority(to)
}
