import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { context as active, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace'
import { auditedLog, auditedService, logsPath, otlpPath, type Told } from './audit.ts'
import { sendOnce } from './sender.ts'
import type { FirstRun } from './server.ts'

/** Between two attempts of a sender, and a part of it at random more. */
const retryMs = 40
const retryJitterMs = 500
const childrenMax = 8
/** After these a sender of OTLP sends again (OTLP/HTTP Response, "Retryable Response Codes"). */
const retryable: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Senders at work: each delivers one request after the other, and repeats one until it is answered. */
export type Load = Readonly<{
  /** Resolves when so many more requests than now have been acknowledged. Rejects on an answer that senders do not repeat. */
  more(requests: number): Promise<void>
  /** Begins no more; resolves when all that was begun is acknowledged. */
  end(): Promise<void>
}>

type Target = Readonly<{ baseUrl: string; keys: FirstRun['keys'] }>
/** One attempt; the status, or undefined when there was no answer. */
type Attempt = () => Promise<number | undefined>
type Sender = Readonly<{ next: () => Readonly<{ attempt: Attempt; acknowledged: () => void }>; close: () => void }>

/** Logs with an `Idempotency-Key`, each a request of its own. */
function logSender({ baseUrl, keys }: Target, name: string, told: Told): Sender {
  const agent = new http.Agent({ keepAlive: true })
  let sent = 0
  return {
    next: () => {
      const message = `${name} ${sent++}`
      const headers = { 'idempotency-key': message }
      const post = { path: logsPath, key: keys.logs, body: auditedLog(message), headers, agent }
      return {
        attempt: () =>
          sendOnce({ baseUrl }, post).then(
            ({ status }) => status,
            () => undefined,
          ),
        acknowledged: () => void told.logs.add(message),
      }
    },
    close: () => agent.destroy(),
  }
}

/** One trace of the OpenTelemetry SDK. */
function createTraces(): () => readonly ReadableSpan[] {
  const memory = new InMemorySpanExporter()
  const resource = resourceFromAttributes({ 'service.name': auditedService })
  const spanProcessors = [new SimpleSpanProcessor({ exporter: memory })]
  const tracer = new TracerProvider({ resource, spanProcessors }).getTracer('load')
  let made = 0
  return () => {
    const root = tracer.startSpan('root')
    const context = trace.setSpan(active.active(), root)
    for (let child = made++ % childrenMax; child >= 0; child--) tracer.startSpan('child', {}, context).end()
    root.end()
    const spans = memory.getFinishedSpans()
    memory.reset()
    return [...spans]
  }
}

/** The SDK's own exporter, which repeats for some seconds by itself; what it gives up it is given again, as a queue on disk would. */
function spanSender({ baseUrl, keys }: Target, told: Told): Sender {
  const exporter = new OTLPTraceExporter({
    url: baseUrl + otlpPath,
    headers: { authorization: `Bearer ${keys.tracing}` },
    compression: CompressionAlgorithm.GZIP,
  })
  const nextTrace = createTraces()
  return {
    next: () => {
      const spans = nextTrace()
      const traceId = spans[0]?.spanContext().traceId ?? ''
      return {
        attempt: () =>
          new Promise((resolve) =>
            exporter.export([...spans], ({ error }) => {
              if (error === undefined) return resolve(200)
              // A status, or the name of what the system has said of the connection.
              const { code } = error as { code?: unknown }
              resolve(typeof code === 'number' ? code : undefined)
            }),
          ),
        acknowledged: () => void told.spans.set(traceId, spans.length),
      }
    },
    close: () => void exporter.shutdown(),
  }
}

type LoadOptions = Readonly<{
  /** Of the log records: unlike any other load's. */
  name: string
  senders: number
  /** Of a sender between two requests, so that what comes together can be looked through. */
  restMs: number
  /** What the senders were told is stored. */
  told: Told
}>

/** Sends until it is ended: every other sender spans, the others logs. */
export function startLoad(target: Target, { name, senders, restMs, told }: LoadOptions): Load {
  const progress = new EventEmitter()
  const ending = new AbortController()
  const done = { requests: 0 }
  const run = async (sender: Sender): Promise<void> => {
    for (; !ending.signal.aborted; await pause(restMs)) {
      const request = sender.next()
      for (let status: number | undefined; status !== 200;) {
        status = await request.attempt()
        if (status === 200) break
        if (status !== undefined && !retryable.has(status)) throw new Error(`a sender was answered ${status}`)
        await pause(retryMs + Math.random() * retryJitterMs)
      }
      request.acknowledged()
      done.requests++
      progress.emit('acknowledged')
    }
    sender.close()
  }
  const all = Array.from({ length: senders }, (_, number) =>
    run(number % 2 === 0 ? spanSender(target, told) : logSender(target, `${name} ${number}`, told)),
  )
  const ended = Promise.all(all)
  const failed = ended.then(() => new Promise<never>(() => undefined))
  failed.catch(() => undefined)
  return {
    more: async (requests) => {
      const due = done.requests + requests
      while (done.requests < due) await Promise.race([once(progress, 'acknowledged'), failed])
    },
    end: async () => {
      ending.abort()
      await ended
    },
  }
}
