import { crcOf, sealEvent, type EventFields } from '#src/events/codec.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

export const noon = Date.UTC(2026, 10, 21, 12)

/** An event for tests of streams: of workspace `acme`, received at noon, with the id's text as payload, unless said. */
export function makeEvent(
  name: string,
  { payload = Buffer.from(`payload of ${name}`), ...fields }: Partial<EventFields> & { payload?: Uint8Array } = {},
): NewEvent {
  const workspaceId = fields.workspaceId ?? workspaceIdOf('acme')
  return sealEvent(
    {
      id: `${workspaceId}.traces.${name}`,
      type: 'spans.received',
      schemaVersion: 1,
      workspaceId,
      keyId: 'key-1',
      receivedAt: noon,
      retentionClass: 'pro',
      identified: true,
      counts: { ...noCounts, spans: 1, bytes: payload.length },
      contentType: 'application/x-protobuf',
      ...fields,
    },
    payload,
  )
}

export const makeEvents = (count: number, prefix = 'event'): readonly NewEvent[] =>
  Array.from({ length: count }, (_, index) => makeEvent(`${prefix}-${index}`))

/** One with so many bytes of payload, which do not pack. */
export function makeLarge(name: string, bytes: number, fields: Partial<EventFields> = {}): NewEvent {
  const payload = Buffer.alloc(bytes, name)
  return { ...makeEvent(name, fields), encoding: '', payload, crc: crcOf(payload) }
}

/** A log line that its sender gave no id. */
export const makeLine = (name: string, workspace = 'acme'): NewEvent =>
  makeEvent(name, { workspaceId: workspaceIdOf(workspace), type: 'logs.received', identified: false })
