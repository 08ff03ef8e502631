import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import type { Folding } from '#projections/folding/folding.ts'
import { projections } from '#projections/registry.ts'
import { limits } from '#src/config.ts'
import { createClock } from '#src/lib/clock.ts'
import { systemTimers } from '#src/lib/timers.ts'

/** What a fold of this program needs, except the log. */
export const createFolding = (): Omit<Folding, 'stream'> => ({
  projections,
  decode: createDecoder(createDecoders(limits)),
  clock: createClock(),
  timers: systemTimers,
  limits,
})
