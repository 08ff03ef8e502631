import { encode } from '@msgpack/msgpack'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'
import { createChance } from './chance.ts'

const record = {
  timestamp: '2026-11-21T07:57:00.123Z',
  level: 'info',
  message: 'é😀 \u0000',
  trace: { id: '4bf92f3577b34da6a3ce929d0e0e4736' },
  n: 9_007_199_254_740_991,
  f: 1_795_240_001.079262,
  list: [1, null, { a: [] }],
}
const one = JSON.stringify(record)
const small = { ...limits, recordBytesMax: 200, attributesPerRecordMax: 6, nestingDepthMax: 2, jsonDepthMax: 4 }
const receivedAt = 1_795_240_001_079

const corpora: Readonly<Record<string, readonly Uint8Array[]>> = {
  'application/json': [
    `[${one},${one}]`,
    `{"logs":[${one}]}`,
    `{"events":[{"log":{"level":"x"}},${one}]}`,
    `{"service":"x","tags":{"a":[1]},"logs":[${one},{},5]}`,
    JSON.stringify(record, null, 1),
    `${one}${one}`,
    '[{"time":1795240001079262377},{"date":1e400},{"date":1795240001.079262377}]',
  ].map((text) => Buffer.from(text)),
  'application/x-ndjson': [`${one}\n${one}\r\n`, `[${one}]\n${one},\n`, '{"a":1}\n\n{"b":2}'].map((text) =>
    Buffer.from(text),
  ),
  'application/msgpack': [
    encode([record, record]),
    encode([[1_795_240_001, { m: 1 }], record]),
    Buffer.concat([encode([5.5, record]), encode(record)]),
    encode({ service: 'x', logs: [record, [5, record]] }),
    encode({ events: [{ logs: [record] }] }),
    encode([
      { a: new Uint8Array(3), b: new Date(0) },
      { c: -5_000_000_000, d: 'x'.repeat(300) },
    ]),
  ],
  'text/plain': [Buffer.from('a\r\n  b\n\nc')],
  'application/x-www-form-urlencoded': [Buffer.from('msg=a%20b&levelname=INFO&created=1795240001.5&msg=%ff')],
}
const alphabet = Buffer.from(
  '{}[]",:0123456789.eE+-truefalsn\\u \n\t\r%&=\x00\x80\x81\x90\xc0\xc1\xc7\xcf\xd7\xdc\xde\xff',
  'latin1',
)

describe('log bodies at random', () => {
  for (const [contentType, bodies] of Object.entries(corpora)) {
    it(`${contentType}: the scan never throws, and what it accepts decodes to as many records`, () => {
      const chance = createChance(42)
      let accepted = 0
      let partly = 0
      for (let round = 0; round < 4_000; round++) {
        const body = chance.mutate(chance.pick(bodies), alphabet, 4)
        const given = chance.pick([contentType, undefined])
        const limits = chance.below(4) === 0 ? { ...small, recordsPerBatchMax: 3 } : small
        const scanned = scanLogs(body, given, limits)
        if (!scanned.ok) continue
        const { payload, contentType: kept, records, rejected, total } = scanned.value
        const label = `${String(given)} ${body.toString('base64')}`
        expect(records + rejected.length, label).to.equal(total)
        const decoded = decodeLogs(payload, kept, { receivedAt, limits })
        expect(decoded.length, label).to.equal(records)
        const again = scanLogs(payload, kept, limits)
        expect(again.ok && [again.value.records, again.value.rejected.length], label).to.deep.equal([records, 0])
        for (const { fields, message, timeNs } of decoded) {
          const text = stringifyJson({ fields, message })
          expect(text.isWellFormed() && message.isWellFormed(), label).to.equal(true)
          expect(timeNs >= 0n && timeNs < 2n ** 63n, label).to.equal(true)
        }
        accepted++
        if (rejected.length > 0) partly++
      }
      // The corpus must exercise both ways.
      expect(accepted).to.be.greaterThan(300)
      if (contentType.startsWith('application/x-ndjson')) expect(partly).to.be.greaterThan(100)
    })
  }
})
