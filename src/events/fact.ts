import type { z } from 'zod'
import { PermanentError } from '#src/lib/failure.ts'
import { openPayload, sealEvent } from './codec.ts'
import { noCounts, type EventHeader, type NewEvent, type RecordedEvent } from './envelope.ts'
import { currentSchemaVersion, upcast } from './upcast.ts'

/** `at`: ms. */
type FactHeader = Pick<EventHeader, 'id' | 'type' | 'workspaceId' | 'retentionClass'> &
  Readonly<{ at: number; subject?: string | undefined }>

/** An event made by us, not by a sender, as the log takes it: JSON. */
export function sealFact({ at, subject, ...header }: FactHeader, payload: object): NewEvent {
  return sealEvent(
    {
      ...header,
      schemaVersion: currentSchemaVersion(header.type),
      keyId: null,
      receivedAt: at,
      identified: true,
      ...(subject === undefined ? {} : { subject }),
      counts: noCounts,
      contentType: 'application/json',
    },
    Buffer.from(JSON.stringify(payload)),
  )
}

/** The content of such an event. An unknown type or version, or another payload, is a PermanentError. */
export function decodeFact<T>(recorded: RecordedEvent, schema: z.ZodType<T>, operation: string): T {
  const event = upcast(recorded)
  try {
    return schema.parse(JSON.parse(Buffer.from(openPayload(event)).toString('utf8')))
  } catch (cause) {
    const subject = `${event.type} at ${event.position}`
    throw new PermanentError({ operation, subject, hint: 'the log is damaged', cause })
  }
}
