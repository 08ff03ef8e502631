import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { decodeLedgerEvent } from '#src/events/allowance.ts'
import { formatHeader, openPayload, parseHeader, sealEvent } from '#src/events/codec.ts'
import { decodeDeadLetterEvent, reasonIn } from '#src/events/dead-letter.ts'
import { decodeDirectoryEvent, directoryEventTypes } from '#src/events/directory.ts'
import {
  allowanceEventTypes,
  deadLetterEventTypes,
  telemetryEventTypes,
  workspaceEventTypes,
  type EventHeader,
  type RecordedEvent,
} from '#src/events/envelope.ts'
import { createUpcast, currentSchemaVersion, upcast } from '#src/events/upcast.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { makeEvent } from '#test/support/make-event.ts'

const folder = new URL('../golden/events/', import.meta.url)
type Golden = Readonly<{
  storedHeader: string
  storedPayloadBase64: string
  header: EventHeader
  decodedText?: string
  decodedBase64?: string
}>

const goldenOf = (name: string): Golden => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Golden
const recorded = ({ storedHeader, storedPayloadBase64 }: Golden): RecordedEvent => ({
  ...parseHeader(storedHeader),
  payload: Buffer.from(storedPayloadBase64, 'base64'),
  position: 4096,
})

describe('stored events of every version', () => {
  const types = [
    ...telemetryEventTypes,
    ...allowanceEventTypes,
    ...deadLetterEventTypes,
    ...workspaceEventTypes,
    ...directoryEventTypes,
  ]
  const versions = types.flatMap((type) =>
    Array.from({ length: currentSchemaVersion(type) }, (_, index) => ({ type, version: index + 1 })),
  )

  it('are there, one golden file for each type and version', () => {
    const names = versions.map(({ type, version }) => `${type}.v${version}.json`)
    expect(readdirSync(folder).sort()).to.deep.equal(names.sort())
  })

  for (const { type, version } of versions) {
    it(`${type} v${version} is read as it was meant, and written as it was`, () => {
      const golden = goldenOf(`${type}.v${version}.json`)
      const event = recorded(golden)
      expect(parseHeader(golden.storedHeader)).to.deep.equal(golden.header)
      expect(formatHeader(event)).to.equal(golden.storedHeader)
      const decoded =
        golden.decodedText === undefined
          ? Buffer.from(golden.decodedBase64 ?? '', 'base64')
          : Buffer.from(golden.decodedText)
      expect(Buffer.from(openPayload(event)).equals(decoded)).to.equal(true)
      const current = upcast(event)
      expect([current.type, current.schemaVersion]).to.deep.equal([type, currentSchemaVersion(type)])
      if (type.startsWith('directory.')) expect(decodeDirectoryEvent(event).type).to.equal(type)
      if (type === 'deadletter.explained') {
        expect(reasonIn(current)).to.equal('decode logs.received at 8192: unexpected end of input')
      } else if (type.startsWith('deadletter.')) {
        expect(decodeDeadLetterEvent(current)).to.deep.equal(JSON.parse(golden.decodedText ?? ''))
      }
      if (/^allowance\.(reserved|returned|reclaimed|counted)$/.test(type)) {
        expect(decodeLedgerEvent(current)).to.deep.equal(JSON.parse(golden.decodedText ?? ''))
      }
    })
  }
})

describe('upcast', () => {
  const old: RecordedEvent = { ...makeEvent('old', { payload: Buffer.from('one') }), position: 4096 }
  const appending =
    (text: string) =>
    (event: RecordedEvent): RecordedEvent => ({
      ...sealEvent(event, Buffer.concat([openPayload(event), Buffer.from(text)])),
      position: event.position,
    })
  const toThird = createUpcast({ 'spans.received': [appending(', two'), appending(', three')] })

  it('takes an event through every step after its own version', () => {
    const from = (schemaVersion: number): string => {
      const event = toThird({ ...old, schemaVersion })
      expect([event.schemaVersion, event.position]).to.deep.equal([3, 4096])
      return Buffer.from(openPayload(event)).toString()
    }
    expect([1, 2, 3].map(from)).to.deep.equal(['one, two, three', 'one, three', 'one'])
  })

  it('leaves types that have not changed alone', () => {
    const logs: RecordedEvent = { ...old, type: 'logs.received' }
    expect(toThird(logs)).to.equal(logs)
  })

  it('refuses a version it does not know, and says what to do', () => {
    expect(() => toThird({ ...old, schemaVersion: 4 })).to.throw(PermanentError, 'upgrade')
    expect(() => upcast({ ...old, schemaVersion: 2 })).to.throw(PermanentError, /spans.received.*2.*upgrade/)
    const revoked = recorded(goldenOf('directory.key.revoked.v1.json'))
    expect(() => decodeDirectoryEvent({ ...revoked, schemaVersion: 2 })).to.throw(PermanentError, /2.*upgrade/)
  })
})
