import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { at, listOf, type Reader } from './client.ts'

/** A span as its sender's SDK recorded it. Times are decimal text of nanoseconds. */
export type SentSpan = Readonly<{
  traceId: string
  spanId: string
  parentSpanId: string | null
  name: string
  kind: string
  start: string
  end: string
  status: string
  statusMessage: string
  attributes: JsonObject
  events: readonly Readonly<{ name: string; time: string; attributes: JsonObject }>[]
  links: readonly Readonly<{ traceId: string; spanId: string; attributes: JsonObject }>[]
  resource: JsonObject
  scope: Readonly<{ name: string; version: string }>
}>

/** RFC 3339 with nanoseconds → nanoseconds. */
export function nanoseconds(text: unknown): string {
  const [, seconds = '', fraction = ''] = /^(.{19})\.(\d{9})Z$/.exec(String(text)) ?? []
  return `${BigInt(Date.parse(`${seconds}Z`)) / 1000n}${fraction}`
}

/** The spans of a trace as correlation answers them. */
async function spansOf(reader: Reader, traceId: string): Promise<readonly JsonObject[]> {
  const { status, body } = await reader.get(`/api/app/correlation?trace_id=${traceId}`)
  expect(status, `trace ${traceId}`).to.equal(200)
  return at(body, 'trace', 'spans') as readonly JsonObject[]
}

/** Finds the span by its trace and compares every part of it with what was sent; it must be there once. */
export async function expectSpan(reader: Reader, sent: SentSpan): Promise<void> {
  const all = (await spansOf(reader, sent.traceId)).filter((span) => span['span_id'] === sent.spanId)
  expect(all, `span ${sent.spanId}`).to.have.length(1)
  const [found] = all
  if (found === undefined) return
  const answered: SentSpan = {
    traceId: String(found['trace_id']),
    spanId: String(found['span_id']),
    parentSpanId: found['parent_span_id'] as string | null,
    name: String(found['name']),
    kind: String(found['kind']),
    start: nanoseconds(found['start']),
    end: nanoseconds(found['end']),
    status: String(at(found, 'status', 'code')),
    statusMessage: String(at(found, 'status', 'message')),
    attributes: found['attributes'] as JsonObject,
    events: listOf(found, 'events').map((event) => ({
      name: String(event['name']),
      time: nanoseconds(event['time']),
      attributes: event['attributes'] as JsonObject,
    })),
    links: listOf(found, 'links').map((link) => ({
      traceId: String(link['trace_id']),
      spanId: String(link['span_id']),
      attributes: link['attributes'] as JsonObject,
    })),
    resource: at(found, 'resource', 'attributes') as JsonObject,
    scope: { name: String(at(found, 'scope', 'name')), version: String(at(found, 'scope', 'version')) },
  }
  expect(answered).to.deep.equal(sent)
  expect(found['repeated'], 'came again').to.equal(0)
  expect(found['duration_ns']).to.equal(String(BigInt(sent.end) - BigInt(sent.start)))
}
