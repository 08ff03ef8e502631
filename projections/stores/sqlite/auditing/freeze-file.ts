import type { Position } from '#src/events/envelope.ts'
import type { Digest, FrozenPart } from '../../../index-audit.ts'
import { noSearchItems } from '../../digest.ts'
import { openDatabaseToAudit, type Database } from '../database.ts'
import { openIfThere } from '../if-there.ts'
import { layoutOf } from '../layout.ts'
import { positionOf, readEntry } from '../stored-rows.ts'
import {
  columnsOf,
  countsOf,
  digestOf,
  entriesOf,
  fingerprintOfRow,
  fingerprintsOf,
  holdCollection,
  searchItemsOf,
  storedOf,
  type CollectionToRead,
  type HeldCollection,
} from './held-collection.ts'

const nothing: FrozenPart = {
  position: 0,
  exact: true,
  async *entries() {},
  entry: async () => undefined,
  digests: async () => [],
  async *fingerprints() {},
  fingerprint: async () => undefined,
  ...noSearchItems,
  stored: async () => undefined,
  release: async () => {},
}

/** Begins a read transaction, and returns the file's position; undefined if the file is just being created. */
function begin(database: Database): Position | undefined {
  database.exec('BEGIN')
  return layoutOf(database) === 0n ? undefined : positionOf(database)
}

/** A read transaction on a file, until it is released. */
export function freezeFile(
  { path, day }: Readonly<{ path: string; day: string }>,
  collections: readonly CollectionToRead[],
  open = openDatabaseToAudit,
): FrozenPart {
  const opened = openIfThere(path, open, begin)
  if (opened === undefined) return nothing
  const { database, found: position } = opened
  const all = new Map(collections.map((read) => [read.tables.shape.name, read]))
  const known = new Map<string, HeldCollection>()
  const heldOf = (name: string): HeldCollection | undefined => {
    const read = all.get(name)
    const held = known.get(name) ?? (read && holdCollection(database, read))
    if (held !== undefined) known.set(name, held)
    return held
  }
  const digests = (): readonly Digest[] =>
    [...all.keys()].flatMap((name) => {
      const held = heldOf(name)
      const digest = held && digestOf(database, name, held)
      return digest === undefined || (digest.entries === 0 && digest.search === '') ? [] : [digest]
    })
  return {
    position,
    exact: true,
    async *entries(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* entriesOf(database, held, day)
    },
    async entry(name, id) {
      const held = heldOf(name)
      return held && readEntry(database, held.tables, id, day)
    },
    digests: async () => digests(),
    async *fingerprints(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* fingerprintsOf(database, held)
    },
    async fingerprint(name, id) {
      const held = heldOf(name)
      const columns = held && columnsOf(database, held, id)
      return held && columns && fingerprintOfRow(columns, held)
    },
    async *searchItems(name) {
      const held = heldOf(name)
      if (held !== undefined) yield* searchItemsOf(database, held)
    },
    async *entriesOf(name, item) {
      yield* heldOf(name)?.postings?.entriesOf(item) ?? []
    },
    async countsOf(name, id) {
      const held = heldOf(name)
      return held === undefined ? [] : countsOf(database, held, id)
    },
    async stored(name, id) {
      const held = heldOf(name)
      return held && storedOf(database, held, id)
    },
    async release() {
      // Which ends the transaction, if a failure has not: then no COMMIT could, and would hide it.
      database.close()
    },
  }
}
