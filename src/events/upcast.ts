import { PermanentError } from '#src/lib/failure.ts'
import type { EventType, RecordedEvent } from './envelope.ts'

/** Turns an event of one schema version into the next. Pure; a changed payload is sealed again (codec.ts). */
type Upcaster = (event: RecordedEvent) => RecordedEvent

/**
 * For each event type that has changed since its first version, the steps from version 1 to 2, 2 to 3, and so on. The log
 * keeps what was written: only readers see the new form. A step is never edited once released; test/golden/events holds a
 * stored event of every version.
 */
type Upcasters = Readonly<Partial<Record<EventType, readonly Upcaster[]>>>

/** What has changed so far: every event type is at its first version. */
const upcasters: Upcasters = {}

/** Upcasts events to the current version of their type. An unknown version is a PermanentError: a reader stops there and does not guess. */
export function createUpcast(upcasters: Upcasters): (event: RecordedEvent) => RecordedEvent {
  return (event) => {
    const steps = upcasters[event.type] ?? []
    if (event.schemaVersion > steps.length + 1) {
      throw new PermanentError({
        operation: 'read event',
        subject: `${event.type} of schema version ${event.schemaVersion} at position ${event.position}`,
        hint: `this program knows versions up to ${steps.length + 1}: upgrade Throughline`,
      })
    }
    return steps
      .slice(event.schemaVersion - 1)
      .reduce<RecordedEvent>((old, step) => ({ ...step(old), schemaVersion: old.schemaVersion + 1 }), event)
  }
}

/** The version that events of a type are written in, and upcast to. */
export const currentSchemaVersion = (type: EventType): number => (upcasters[type]?.length ?? 0) + 1

/** The event as this program knows it. */
export const upcast = createUpcast(upcasters)
