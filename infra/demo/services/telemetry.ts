import { once } from 'node:events'
import {
  context,
  propagation,
  SpanStatusCode,
  trace,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { pino, type Logger } from 'pino'

/** What a service has made: spans and log lines; and why the last spans did not arrive, if they did not. */
export type Made = Readonly<{ spans: number; logs: number; failure: string | null }>

export type Telemetry = Readonly<{
  log: Logger
  /** Does work inside a span; what it throws is recorded on the span and thrown on. */
  inSpan<Result>(name: string, options: SpanOptions, work: (span: Span) => Promise<Result>): Promise<Result>
  /** Sends what is still here; afterwards nothing is taken. */
  stop(): Promise<Made>
}>

type Shipping = Readonly<{ logsUrl: string; logsToken: string }>

/** The baggage entry and attribute that names a shopper's visit (semantic conventions, session). */
export const sessionKey = 'session.id'

const activeSession = (): string | undefined => propagation.getBaggage(context.active())?.getEntry(sessionKey)?.value

function createLog(service: string, { logsUrl, logsToken }: Shipping, onLine: () => void) {
  const options = { sourceToken: logsToken, options: { endpoint: logsUrl } }
  const transport = pino.transport({ target: '@logtail/pino', options })
  const log = pino(
    {
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      // What joins a line with its trace and its shopper (OpenTelemetry, "Trace Context in non-OTLP Log Formats").
      mixin: () => {
        onLine()
        const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {}
        return { trace_id: traceId, span_id: spanId, session_id: activeSession() }
      },
    },
    transport,
  )
  const flush = async (): Promise<void> => {
    const closed = once(transport, 'close')
    transport.end()
    await closed
  }
  return { log, flush }
}

/**
 * The OpenTelemetry SDK as the OTEL_* variables of this process configure it, and a pino logger that ships to the logs
 * ingest. Every span of the demo is made here.
 */
export function startTelemetry(service: string, shipping: Shipping): Telemetry {
  const sdk = new NodeSDK({ serviceName: service })
  sdk.start()
  const tracer: Tracer = trace.getTracer('throughline-demo')
  let spans = 0
  let logs = 0
  const { log, flush } = createLog(service, shipping, () => logs++)
  return {
    log,
    inSpan: (name, options, work) =>
      tracer.startActiveSpan(name, options, async (span) => {
        spans++
        const session = activeSession()
        if (session !== undefined) span.setAttribute(sessionKey, session)
        try {
          return await work(span)
        } catch (error) {
          const failure = error instanceof Error ? error : new Error(String(error))
          span.recordException(failure)
          span.setStatus({ code: SpanStatusCode.ERROR, message: failure.message })
          throw error
        } finally {
          span.end()
        }
      }),
    stop: async () => {
      const failure = await sdk.shutdown().then(() => null, String)
      // Last: pino's transport blocks this thread until its own has sent the rest.
      await flush()
      return { spans, logs, failure }
    },
  }
}
