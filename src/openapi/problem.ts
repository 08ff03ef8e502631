import { z } from 'zod'
import { refusalCodes } from '#src/http/errors.ts'
import { indexState } from '#src/query/answer-parts.ts'

/** The problem document of every refusal outside OTLP (RFC 9457). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int().min(400).max(599),
    detail: z.string(),
    code: z.enum(refusalCodes).meta({ description: 'Stable and machine-readable.' }),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    feature: z.string().optional().meta({ description: 'entitlement_required: what the plan lacks.' }),
    position: z.number().int().min(0).optional().meta({ description: 'query_syntax: where, in UTF-16 units from 0.' }),
    index: indexState
      .optional()
      .meta({ description: 'not_found: who waits for a write goes on while `position` is below it.' }),
    expected: z.array(z.string()).optional().meta({ description: 'query_syntax: what could stand there.' }),
  })
  .meta({ id: 'Problem' })
