import { allowanceProjection } from './allowance/fold.ts'
import { correlationProjection } from './correlation/fold.ts'
import { logsProjection } from './logs/fold.ts'
import type { Projection } from './projection.ts'
import { tracesProjection } from './traces/fold.ts'

/** Every projection of the service. */
export const projections: readonly Projection[] = [
  tracesProjection,
  logsProjection,
  correlationProjection,
  allowanceProjection,
]
