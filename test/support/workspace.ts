import { expect } from 'chai'
import { stringifyJson, type Json } from '#src/lib/json.ts'
import { post } from './client.ts'
import type { FirstRun, Server } from './server.ts'
import { otlpJson, type SpanSketch } from './telemetry.ts'

/** Sends telemetry into one workspace; each call is one request and resolves when it is acknowledged. */
export type Sending = Readonly<{
  spans(spans: readonly SpanSketch[]): Promise<Response>
  /** Spans in the form of OTLP's own JSON. */
  otlp(resourceSpans: readonly object[]): Promise<Response>
  logs(records: readonly Readonly<Record<string, Json>>[]): Promise<Response>
  /** A body of Grafana Faro's form. */
  rum(body: Readonly<Record<string, Json>>): Promise<Response>
}>

const json = { 'content-type': 'application/json' }

export function sendingTo(server: Pick<Server, 'baseUrl'>, keys: FirstRun['keys']): Sending {
  const send = async (path: string, key: string, body: string, status: number): Promise<Response> => {
    const response = await post(server, path, key, body, json)
    expect(response.status, response.status === status ? path : `${path}: ${await response.text()}`).to.equal(status)
    return response
  }
  return {
    spans: (spans) => send('/api/traces/v1/otlp', keys.tracing, otlpJson(spans), 200),
    otlp: (resourceSpans) => send('/api/traces/v1/otlp', keys.tracing, JSON.stringify({ resourceSpans }), 200),
    logs: (records) => send('/api/logs/v1/ingest', keys.logs, stringifyJson(records), 200),
    rum: (body) => send('/api/rum/v1/ingest', keys.publishable, stringifyJson(body), 202),
  }
}

export const msNs = 1_000_000n
export const secondNs = 1_000_000_000n
export const nowNs = (): bigint => BigInt(Date.now()) * msNs
/** A moment some minutes ago, at a full second, so that a test's times are easy to read. */
export const minutesAgoNs = (minutes: number): bigint =>
  (BigInt(Math.floor(Date.now() / 1_000)) - BigInt(minutes * 60)) * secondNs
