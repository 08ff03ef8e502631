import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { createChance } from '#test/wire/logs/chance.ts'
import { decodeRum } from '#src/wire/rum/decode.ts'
import { scanRum } from '#src/wire/rum/scan.ts'

const faro = readFileSync(new URL('../../golden/rum/faro-web-sdk.json', import.meta.url))
const compact = Buffer.from(JSON.stringify(JSON.parse(faro.toString())))
const otlp = Buffer.from(JSON.stringify((JSON.parse(faro.toString()) as { traces: unknown }).traces))
const plain = Buffer.from(
  '{"session_id":"s","events":[{"type":"x","timestamp":1795247820123},{"name":"é","url":"u","n":9007199254740993}]}',
)
const small = Buffer.from(
  '{"meta":{"session":{"id":"s"}},"logs":[{"message":"a"},5],"events":[{"name":"b"}],"traces":{"resourceSpans":[]}}',
)
const alphabet = Buffer.from('{}[]",:0123456789.eE+-truefalsn\\u \n\x00\xff', 'latin1')

describe('RUM bodies at random', () => {
  it('the scan never throws, and what it accepts decodes to as many items, whatever is left out', () => {
    const chance = createChance(42)
    const limits = {
      ...defaults,
      recordBytesMax: 400,
      nestingDepthMax: 3,
      attributesPerRecordMax: 10,
      jsonDepthMax: 12,
    }
    let accepted = 0
    for (let round = 0; round < 3_000; round++) {
      const body = chance.mutate(chance.pick([faro, compact, otlp, plain, small]), alphabet, 3)
      const scanned = scanRum(body, 'application/json', limits)
      if (!scanned.ok) continue
      const { counts } = scanned.value
      const label = body.toString('base64')
      const keep = { logs: chance.below(2) === 0, events: chance.below(2) === 0, spans: (index: number) => index !== 1 }
      for (const wanted of [{}, keep, { spans: false, exceptions: false, measurements: false }]) {
        const payload = scanned.value.cut(wanted)
        const again = scanRum(payload, 'application/json', limits)
        // A body of which nothing is left is not stored; it may be of no form any more.
        if (!again.ok) {
          expect(again.error.detail, label).to.contain('none of the forms')
          continue
        }
        expect(again.value.rejected, label).to.deep.equal([])
        const decoded = decodeRum(payload, 'application/json', { receivedAt: 1, limits })
        expect(decoded.spans.length, label).to.equal(again.value.counts.spans)
        expect(decoded.logs.length, label).to.equal(again.value.counts.logs + again.value.counts.exceptions)
        expect(decoded.rumEvents.length, label).to.equal(again.value.counts.events + again.value.counts.measurements)
        expect(stringifyJson([decoded.logs, decoded.rumEvents]).isWellFormed(), label).to.equal(true)
        if (wanted === keep) {
          expect(again.value.counts.logs, label).to.equal(keep.logs ? counts.logs : 0)
          expect(again.value.counts.events, label).to.equal(keep.events ? counts.events : 0)
        } else if (!('spans' in wanted)) expect(again.value.counts, label).to.deep.equal(counts)
      }
      accepted++
    }
    expect(accepted).to.be.greaterThan(300)
  })
})
