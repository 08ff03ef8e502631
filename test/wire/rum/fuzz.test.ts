import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import { isJsonObject, parseJson, stringifyJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { createChance } from '#test/wire/logs/chance.ts'
import { decodeRum, type DecodedRum } from '#src/wire/rum/decode.ts'
import type { RumPart } from '#src/wire/rum/form.ts'
import { scanRum, type RumKeep, type RumScan } from '#src/wire/rum/scan.ts'

const faro = readFileSync(new URL('../../golden/rum/faro-web-sdk.json', import.meta.url))
const whole = JSON.parse(faro.toString()) as Record<'meta' | 'traces', unknown>
const { meta: _meta, ...withoutMeta } = whole
const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body))
const plain = Buffer.from(
  '{"session_id":"s","events":[{"type":"x","timestamp":1795247820123},{"name":"é","url":"u","n":9007199254740993}]}',
)
const small = Buffer.from(
  '{"meta":{"session":{"id":"s"}},"logs":[{"message":"a"},5],"events":[{"name":"b"}],"traces":{"resourceSpans":[]}}',
)
const event =
  '"events":[{"name":"b","trace":{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7"}},7]'
const bare = ['"logs":[1]', '"exceptions":[{}]', '"measurements":{}', '"traces":[]'].map((part) =>
  Buffer.from(`{${part},${event}}`),
)
const bodies = [faro, bytesOf(whole), bytesOf(whole.traces), plain, small, bytesOf(withoutMeta), ...bare]
const alphabet = Buffer.from('{}[]",:0123456789.eE+-truefalsn\\u \n\x00\xff', 'latin1')
const limits = { ...defaults, recordBytesMax: 400, nestingDepthMax: 3, attributesPerRecordMax: 10, jsonDepthMax: 12 }

const decode = (payload: Uint8Array): DecodedRum => decodeRum(payload, 'application/json', { receivedAt: 1, limits })

/** Whether the decoder should give each object of a list, in order: not those that were rejected, nor of a part that is left out. */
function wantedOf(body: JsonObject, { rejected }: RumScan, keep: RumKeep, part: Exclude<RumPart, 'spans'>): boolean[] {
  const bad = new Set(rejected.filter((item) => item.part === part).map(({ index }) => index))
  const list = body[part]
  const items = Array.isArray(list) ? (list as readonly Json[]) : []
  return items.flatMap((item, index) => (isJsonObject(item) ? [keep[part] !== false && !bad.has(index)] : []))
}

/** What the decoder makes of the whole body, less the items and spans that are not kept. */
function expected(body: Buffer, scan: RumScan, keep: RumKeep): DecodedRum {
  const parsed = parseJson(body.toString()) as JsonObject
  const { spans, logs, rumEvents } = decode(body)
  const wanted = (part: Exclude<RumPart, 'spans'>): boolean[] => wantedOf(parsed, scan, keep, part)
  const valid = Array.from({ length: scan.spans?.spans ?? 0 }, (_unused, index) => index).filter((index) =>
    scan.spans?.valid(index),
  )
  const isKept = (span: number): boolean => (typeof keep.spans === 'function' ? keep.spans(span) : keep.spans !== false)
  const ofLogs = [...wanted('logs'), ...wanted('exceptions')]
  const ofEvents = [...wanted('events'), ...(scan.form === 'faro' ? wanted('measurements') : [])]
  const keptLogs = logs.filter((_log, index) => ofLogs[index])
  const keptEvents = rumEvents.filter((_event, index) => ofEvents[index])
  return {
    spans: spans.filter((_span, index) => isKept(valid[index] ?? -1)),
    logs: keptLogs.map((log, ordinal) => ({ ...log, ordinal })),
    rumEvents: keptEvents.map((one, index) => ({ ...one, ordinal: keptLogs.length + index })),
  }
}

describe('RUM bodies at random', () => {
  it('the scan never throws, and what it accepts decodes to the same items, whatever is left out beside them', () => {
    const chance = createChance(42)
    let accepted = 0
    const coin = (): boolean => chance.below(2) === 0
    for (let round = 0; round < 4_000; round++) {
      const picked = chance.pick(bodies)
      const body = coin() || coin() ? chance.mutate(picked, alphabet, 3) : picked
      const scanned = scanRum(body, 'application/json', limits)
      if (!scanned.ok) continue
      const label = body.toString('base64')
      const keep = { logs: coin(), exceptions: coin(), events: coin(), spans: (index: number) => index !== 1 }
      for (const wanted of [{}, keep, { spans: false, exceptions: false, measurements: false }]) {
        const payload = scanned.value.cut(wanted)
        const again = scanRum(payload, 'application/json', limits)
        if (!again.ok) throw new Error(`${again.error.detail}: ${label}`)
        expect([again.value.form, again.value.rejected], label).to.deep.equal([scanned.value.form, []])
        const decoded = decode(payload)
        expect(decoded.spans.length, label).to.equal(again.value.counts.spans)
        expect(decoded.logs.length, label).to.equal(again.value.counts.logs + again.value.counts.exceptions)
        expect(decoded.rumEvents.length, label).to.equal(again.value.counts.events + again.value.counts.measurements)
        expect(stringifyJson([decoded.logs, decoded.rumEvents]).isWellFormed(), label).to.equal(true)
        expect(decoded, label).to.deep.equal(expected(body, scanned.value, wanted))
      }
      accepted++
    }
    expect(accepted).to.be.greaterThan(1_000)
  })
})
