import { z } from 'zod'
import { count, int64 } from '#src/query/answer-parts.ts'

// Bodies are read by the scanners of src/wire, which take more than a schema can say: these show what senders write.

export const logBody = z
  .union([
    z.record(z.string(), z.unknown()),
    z.array(z.record(z.string(), z.unknown())),
    z.object({ logs: z.array(z.record(z.string(), z.unknown())) }),
    z.object({ events: z.array(z.record(z.string(), z.unknown())) }),
  ])
  .meta({
    id: 'LogBody',
    description: 'A record, a list of records, or an object around a list. Every field of a record is kept as it is.',
  })

export const rumBody = z
  .union([
    z.looseObject({
      meta: z.record(z.string(), z.unknown()).optional(),
      logs: z.array(z.unknown()).optional(),
      exceptions: z.array(z.unknown()).optional(),
      events: z.array(z.unknown()).optional(),
      measurements: z.array(z.unknown()).optional(),
      traces: z.object({ resourceSpans: z.array(z.unknown()) }).optional(),
    }),
    z.looseObject({ resourceSpans: z.array(z.unknown()) }),
    z.looseObject({ session_id: z.string(), events: z.array(z.unknown()) }),
  ])
  .meta({
    id: 'RumBody',
    description: 'The body of Grafana Faro, OTLP/HTTP JSON of browser spans, or a session with its events.',
  })

export const otlpBody = z.looseObject({ resourceSpans: z.array(z.unknown()).optional() }).meta({
  id: 'ExportTraceServiceRequest',
  description: 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest in its JSON form.',
})

const logFault = z.object({ index: count, code: z.string(), message: z.string() })

export const logIngestAnswer = z
  .object({ accepted: count, rejected: count, errors: z.array(logFault).max(20) })
  .meta({ id: 'LogIngestAnswer', description: 'What was taken of a batch; the first 20 records that were not.' })

export const rumIngestAnswer = z.object({ accepted: count, rejected: count }).meta({ id: 'RumIngestAnswer' })

export const otlpAnswer = z
  .object({
    partialSuccess: z.object({ rejectedSpans: int64.optional(), errorMessage: z.string().optional() }).optional(),
  })
  .meta({
    id: 'ExportTraceServiceResponse',
    description:
      '`partialSuccess` is absent when every span was taken; with no rejected span its message is a warning.',
  })

export const rpcStatus = z
  .object({
    code: count,
    message: z.string(),
    details: z.array(z.looseObject({ '@type': z.string() })),
  })
  .meta({ id: 'Status', description: 'google.rpc.Status with ErrorInfo, and RetryInfo where it may be sent again.' })
