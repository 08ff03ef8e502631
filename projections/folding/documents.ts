import { assert } from '#src/lib/assert.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { dayBefore, dayOf } from '#src/lib/day.ts'
import type { EntryKey, WorkspaceEntries } from '../index-store.ts'
import {
  type Collection,
  type DecodedEvent,
  type DocumentId,
  type Documents,
  type Entry,
  type Key,
  daysReplaced,
} from '../projection.ts'

/** The entries of one id, by day. `asked`: the event days for which the store has already been asked. */
type Slot = { entries: Map<string, Entry>; asked: Set<string>; bytes: number }

export type CacheLimits = Readonly<{ cachedDocumentsMax: number; cachedBytesMax: number }>

/**
 * The documents of a lane: what is loaded, what has changed and is not written yet, what is kept for later batches. A cache belongs to one index
 * and one writer.
 */
export type DocumentCache = Readonly<{
  /** The keys of the event's workspace that were not loaded yet. All given keys count as used: `trim` forgets them last. */
  missing(event: DecodedEvent, keys: readonly Key<never>[]): readonly EntryKey[]
  /** What a load found, in the order of its keys. */
  add(keys: readonly EntryKey[], found: readonly (readonly Entry[])[]): void
  /** For `needs`: documents that are not loaded read as undefined. */
  loaded(event: DecodedEvent): Pick<Documents, 'get'>
  /** For `fold`: a document that `needs` did not name is a broken invariant. */
  documents(event: DecodedEvent): Documents
  /** Everything changed since the last call, for one write. */
  takeChanged(): readonly WorkspaceEntries[]
  /** Forgets the least recently used documents above the limits. Nothing may be unwritten. */
  trim(): void
}>

type Place = Readonly<{ workspaceId: WorkspaceId; position: Position; day: string }>

/** Rough size of a document in memory, for the bound of the cache. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return 24 + value.length
  if (typeof value !== 'object' || value === null) return 12
  let bytes = 32
  for (const item of Array.isArray(value) ? value : Object.values(value)) bytes += 12 + sizeOf(item)
  return bytes
}

const place = ({ event }: DecodedEvent): Place => ({
  workspaceId: event.workspaceId,
  position: event.position,
  day: dayOf(event.receivedAt),
})

/**
 * The entry that an event at this place folds into: the newest within the look-back. An entry that a later event created does not count: a
 * replay after a crash may meet it.
 */
function entryAt(slot: Slot, { lookbackDays }: Pick<Collection, 'lookbackDays'>, at: Place): Entry | undefined {
  const oldest = dayBefore(at.day, lookbackDays)
  let found: Entry | undefined
  for (const entry of slot.entries.values()) {
    if (entry.day > at.day || entry.day < oldest || (entry.created ?? 0) > at.position) continue
    if (found === undefined || entry.day > found.day) found = entry
  }
  return found
}

function createSlots(limits: CacheLimits) {
  const slots = new Map<string, Slot>()
  let bytes = 0
  return {
    find: (name: string): Slot | undefined => slots.get(name),
    touch(name: string): Slot {
      const slot = slots.get(name) ?? { entries: new Map(), asked: new Set(), bytes: 0 }
      slots.delete(name)
      slots.set(name, slot)
      return slot
    },
    measure(slot: Slot): void {
      let now = 64
      for (const { document } of slot.entries.values()) now += sizeOf(document)
      bytes += now - slot.bytes
      slot.bytes = now
    },
    trim(): void {
      for (const [name, slot] of slots) {
        if (slots.size <= limits.cachedDocumentsMax && bytes <= limits.cachedBytesMax) return
        slots.delete(name)
        bytes -= slot.bytes
      }
    },
  }
}

const nameOf = (workspaceId: WorkspaceId, collection: string, id: DocumentId): string =>
  `${workspaceId}\0${collection}\0${id}`

/** Entries to be written, in the order of their first change. */
function createChanges() {
  const changed = new Map<WorkspaceId, Map<string, Entry>>()
  return {
    set(workspaceId: WorkspaceId, entry: Entry): void {
      const entries = changed.get(workspaceId) ?? new Map<string, Entry>()
      changed.set(workspaceId, entries.set(`${entry.collection}\0${entry.id}\0${entry.day}`, entry))
    },
    /** Puts a record; one that replaces drops what this batch held under its id. */
    put(workspaceId: WorkspaceId, entry: Entry, days: readonly string[]): void {
      const entries = changed.get(workspaceId)
      if (entry.replaces === true) for (const day of days) entries?.delete(`${entry.collection}\0${entry.id}\0${day}`)
      this.set(workspaceId, entry)
    },
    take(): readonly WorkspaceEntries[] {
      const taken = [...changed].map(([workspaceId, entries]) => ({ workspaceId, entries: [...entries.values()] }))
      changed.clear()
      return taken
    },
    isEmpty: (): boolean => changed.size === 0,
  }
}

type Slots = ReturnType<typeof createSlots>
type Changes = ReturnType<typeof createChanges>

/** The documents of one event for its fold. `onChange` hears of each slot that changed. */
function documentsOf(event: DecodedEvent, slots: Slots, changes: Changes, onChange: (slot: Slot) => void): Documents {
  const at = place(event)
  /** Documents that this event has changed: it may change them again. */
  const mine = new Set<Slot>()
  const slotOf = (key: Key<never>): Slot => {
    const slot = slots.find(nameOf(at.workspaceId, key.collection.name, key.id))
    const isLoaded = slot?.asked.has(at.day) === true
    assert(slot !== undefined && isLoaded, `needs() of the fold did not name ${key.collection.name} ${key.id}`)
    return slot
  }
  /** A document is kept on the day of the one it belongs to: whoever finds that one finds it too, also where days of receipt interleave. */
  const dayOfNew = ({ collection, id }: Key<never>): string => {
    const owner = collection.belongsTo?.(id)
    const slot = owner && slots.find(nameOf(at.workspaceId, owner.collection, owner.id))
    return (slot && entryAt(slot, collection, at)?.day) ?? at.day
  }
  return {
    get: <Document extends object>(key: Key<Document>) =>
      entryAt(slotOf(key), key.collection, at)?.document as Document | undefined,
    update<Document extends object>(key: Key<Document>, fold: (document: Document | undefined) => Document): void {
      assert(key.collection.kind === 'document', `${key.collection.name} holds records: put() writes them`)
      const slot = slotOf(key)
      const entry = entryAt(slot, key.collection, at)
      if (entry !== undefined && entry.position >= at.position && !mine.has(slot)) return
      const document = fold(entry?.document as Document | undefined)
      if (document === entry?.document) return
      const { day, created } = { day: entry?.day ?? dayOfNew(key), created: entry?.created ?? at.position }
      const next: Entry = { collection: key.collection.name, id: key.id, day, document, position: at.position, created }
      mine.add(slot)
      slot.entries.set(day, next)
      changes.set(at.workspaceId, next)
      onChange(slot)
    },
    put<Document extends object>(key: Key<Document>, document: Document, options = { replaces: false }): void {
      assert(key.collection.kind === 'record', `${key.collection.name} holds documents: update() folds them`)
      const { name: collection, lookbackDays } = key.collection
      const entry: Entry = { collection, id: key.id, day: at.day, document, position: at.position }
      if (!options.replaces) return changes.set(at.workspaceId, entry)
      changes.put(at.workspaceId, { ...entry, replaces: true }, daysReplaced(at.day, lookbackDays))
    },
  }
}

export function createDocumentCache(limits: CacheLimits): DocumentCache {
  const slots = createSlots(limits)
  const changes = createChanges()
  const changedSlots = new Set<Slot>()
  return {
    documents: (event) => documentsOf(event, slots, changes, (slot) => changedSlots.add(slot)),
    missing(event, keys) {
      const { workspaceId, day } = place(event)
      const found: EntryKey[] = []
      for (const { collection, id } of keys) {
        const slot = slots.touch(nameOf(workspaceId, collection.name, id))
        if (!slot.asked.has(day)) found.push({ workspaceId, collection: collection.name, id, day })
      }
      return found
    },
    add(keys, found) {
      for (const [index, { workspaceId, collection, id, day }] of keys.entries()) {
        const slot = slots.touch(nameOf(workspaceId, collection, id))
        slot.asked.add(day)
        // An entry that is here already is at least as new, because this cache belongs to the index's writer.
        for (const entry of found[index] ?? []) if (!slot.entries.has(entry.day)) slot.entries.set(entry.day, entry)
        slots.measure(slot)
      }
    },
    loaded(event) {
      const at = place(event)
      return {
        get: <Document extends object>(key: Key<Document>) => {
          const slot = slots.find(nameOf(at.workspaceId, key.collection.name, key.id))
          return (slot && entryAt(slot, key.collection, at)?.document) as Document | undefined
        },
      }
    },
    takeChanged() {
      for (const slot of changedSlots) slots.measure(slot)
      changedSlots.clear()
      return changes.take()
    },
    trim() {
      assert(changes.isEmpty(), 'unwritten documents may not be forgotten')
      slots.trim()
    },
  }
}
