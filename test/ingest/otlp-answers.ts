import { expect } from 'chai'
import protobuf from 'protobufjs/minimal.js'
import type { Answer } from '#test/support/ingest.ts'
import { emptySpan, type MadeSpan } from '#test/support/otlp.ts'

export const path = '/api/traces/v1/otlp'
export const hex = (value: number, digits: number): string => (value + 1).toString(16).padStart(digits, '0')
/** Spans with ids of their own: `count` from number `first` on. */
export const spansWithIds = (count: number, first = 0): MadeSpan[] =>
  Array.from({ length: count }, (_none, index) => ({
    ...emptySpan,
    traceId: hex(first + index, 32),
    spanId: hex(first + index, 16),
  }))

/** `google.rpc.Status` and `ExportTraceServiceResponse`, read by hand: fields by number. */
export function fieldsOf(bytes: Uint8Array): Map<number, number | Uint8Array> {
  const reader = protobuf.Reader.create(bytes)
  const fields = new Map<number, number | Uint8Array>()
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    fields.set(tag >>> 3, (tag & 7) === 2 ? reader.bytes() : Number(reader.int64()))
  }
  return fields
}
export const textOf = (value: number | Uint8Array | undefined): string =>
  Buffer.from(value as Uint8Array).toString('utf8')

type Partial = Readonly<{ rejected: number; message: string }>
/** The partial success of an answer in either encoding; undefined for full success. */
export function partialOf(answer: Answer): Partial | undefined {
  expect(answer.status).to.equal(200)
  if (answer.headers.get('content-type') === 'application/json') {
    const { partialSuccess } = answer.json as { partialSuccess?: { rejectedSpans?: string; errorMessage?: string } }
    if (partialSuccess === undefined) return undefined
    return { rejected: Number(partialSuccess.rejectedSpans ?? 0), message: partialSuccess.errorMessage ?? '' }
  }
  expect(answer.headers.get('content-type')).to.equal('application/x-protobuf')
  const partial = fieldsOf(answer.body).get(1)
  if (partial === undefined) return undefined
  const fields = fieldsOf(partial as Uint8Array)
  return { rejected: Number(fields.get(1) ?? 0), message: fields.has(2) ? textOf(fields.get(2)) : '' }
}
