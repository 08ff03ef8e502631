import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import { projections } from '#projections/registry.ts'
import { limits } from '#src/config.ts'
import { parseHeader, sealEvent } from '#src/events/codec.ts'
import type { NewEvent, RecordedEvent, TelemetryEventType } from '#src/events/envelope.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'
import { foldAll } from '#test/support/fold-harness.ts'

/**
 * What each projection folds of the golden events and of the golden bodies of log senders, and by what that is found. An index that is there is gone
 * on with by every program of its version: one that folds something else makes an index that differs from its log.
 */
const folded: Readonly<Record<string, string>> = {
  traces: 'v24 a5c8166a8bb8d573',
  logs: 'v25 70e1cac1ccaa0287',
  correlation: 'v21 068730ec76ef754e',
  allowance: 'v13 2383b46d105f7956',
}

const golden = new URL('../golden/', import.meta.url)
const json = <T>(path: string): T => JSON.parse(readFileSync(new URL(path, golden), 'utf8')) as T

function storedEvent(type: TelemetryEventType): NewEvent {
  const { storedHeader, storedPayloadBase64 } = json<Record<'storedHeader' | 'storedPayloadBase64', string>>(
    `events/${type}.v1.json`,
  )
  return { ...parseHeader(storedHeader), payload: Buffer.from(storedPayloadBase64, 'base64') }
}

function logsOf(file: string, number: number): NewEvent {
  const { body, contentType } = json<Readonly<{ body: string; contentType: string | null }>>(`logs/${file}`)
  const scanned = scanLogs(Buffer.from(body), contentType ?? undefined, limits)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  const { encoding: _encoding, crc: _crc, payload: _payload, ...like } = storedEvent('logs.received')
  const id = `default.logs.${number.toString(16).padStart(32, '0')}`
  return sealEvent({ ...like, id, contentType: scanned.value.contentType }, scanned.value.payload)
}

function givenEvents(): readonly RecordedEvent[] {
  const types = ['spans.received', 'spans.refused', 'rum.received', 'logs.received'] as const
  const files = readdirSync(new URL('logs/', golden)).toSorted()
  return [...types.map(storedEvent), ...files.map(logsOf)].map((event, n) => ({ ...event, position: (n + 1) * 4_096 }))
}

describe('the version of a projection', () => {
  for (const projection of projections) {
    it(`is another when ${projection.name} folds something else`, async () => {
      const decode = createDecoder(createDecoders(limits))
      const store = await foldAll(projection, givenEvents().map(decode))
      const { name, version, collections } = projection
      const text = store.dump(buildName(projection, 1)).map((item) => {
        const { timeNs, fields } = collections[item.entry.collection]?.searchable(item.entry.document as never) ?? {}
        return stringifyJson({ ...item, timeNs: String(timeNs), fields })
      })
      const digest = createHash('sha256').update(text.join('\n')).digest('hex').slice(0, 16)
      expect(text.length).to.be.greaterThan(0)
      expect(`v${version} ${digest}`, 'raise its version, and write both here').to.equal(folded[name])
    })
  }
})
