import { allowanceProjection } from './allowance/fold.ts'
import { correlationProjection } from './correlation/fold.ts'
import { logsProjection } from './logs/fold.ts'
import { projectionNames, type ProjectionName } from './names.ts'
import type { Projection } from './projection.ts'
import { tracesProjection } from './traces/fold.ts'

const folds: Readonly<Record<ProjectionName, Projection>> = {
  traces: tracesProjection,
  logs: logsProjection,
  correlation: correlationProjection,
  allowance: allowanceProjection,
}

/** Every projection of the service. */
export const projections: readonly Projection[] = projectionNames.map((name) => folds[name])
