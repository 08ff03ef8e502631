import type { FrozenPart, IndexAudit, Part } from '#projections/index-audit.ts'
import type {
  Checkpoint,
  IndexName,
  IndexReader,
  IndexWriter,
  Roster,
  WorkspaceEntries,
} from '#projections/index-store.ts'
import type { Entry, Projection } from '#projections/projection.ts'
import { createMemoryIndexStore, type Dump } from '#projections/stores/memory/store.ts'
import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'

/** An index as the simulation needs it: writers of several processes, and what a power cut leaves. */
export type SimulatedIndex = Readonly<{
  /** A process's own. `between`: resolves where a batch may be torn. */
  open(between: () => Promise<void>, share?: string): IndexWriter
  audit(): IndexAudit
  reader: IndexReader
  /** All that a build holds, past the audit; where it is left out, the audit is asked for it. */
  dump?(index: IndexName): Dump
  /** Everything that was not synced may be lost, of each file another part. Writers that are open do nothing any more. */
  cutPower(): Promise<void>
  /** An empty one of the same kind, which nothing befalls. */
  aside(): SimulatedIndex
  /** Each process writes its files itself, one call after the other: a batch that was given up does not come long after. */
  readonly isNear?: boolean
  remove(): Promise<void>
}>

/**
 * How a batch is torn. `files`: a workspace's day is written whole, and kept when it has been synced, as in SQLite. `documents`: each
 * document by itself, and kept when it has been written, as in Elasticsearch.
 */
export type Tearing = 'files' | 'documents'

export type Chance = Readonly<{ below(max: number): number }>

/** One of them by chance; undefined of none. */
export const pick = <T>(items: readonly T[], { below }: Chance): T | undefined => items[below(items.length)]

type Op = Readonly<{ index: IndexName; file: string; piece: WorkspaceEntries; position: Position }> & {
  isSynced: boolean
}
type Build = Readonly<{ projection: Projection; epoch: string; after: Position }> & {
  /** Everything up to here is synced. */
  safe: Position
  shares: Map<string, Position>
}
type Erasure = Readonly<{ index: IndexName; workspaceId: WorkspaceId; position: Position }>
/** A build as one writer knows it. */
type Opened = { written: Position; safe: Position; syncedAt: number }

const syncEveryMs = 2_000
const documentsAtOnce = 3

function shuffled<T>(items: readonly T[], { below }: Chance): readonly T[] {
  const rest = [...items]
  return items.map(() => rest.splice(below(rest.length), 1)[0] as T)
}

/** What of a batch is written in one step. */
function piecesOf(batch: readonly WorkspaceEntries[], tearing: Tearing, chance: Chance): readonly WorkspaceEntries[] {
  const pieces: WorkspaceEntries[] = []
  for (const { workspaceId, entries } of batch) {
    const groups =
      tearing === 'files'
        ? [...Map.groupBy(entries, ({ day }) => day).values()]
        : [...Map.groupBy(shuffled(entries, chance).entries(), ([n]) => Math.floor(n / documentsAtOnce)).values()].map(
            (group) => group.map(([, entry]) => entry),
          )
    for (const group of groups) pieces.push({ workspaceId, entries: group })
  }
  return shuffled(pieces, chance)
}

const fileOf = (index: IndexName, workspaceId: string, day: string): string => `${index}/${workspaceId}/${day}`

/** What is on the disk, and what would be after a power cut. */
function createDisk(chance: Chance, projections: readonly string[]) {
  let store = createMemoryIndexStore()
  let generation = 0
  let ops: Op[] = []
  const erasures: Erasure[] = []
  const builds = new Map<IndexName, Build>()
  const keep = (index: IndexName, piece: WorkspaceEntries, position: Position, isSynced: boolean): void => {
    const [first] = piece.entries
    if (first === undefined) return
    ops.push({ index, file: fileOf(index, piece.workspaceId, first.day), piece, position, isSynced })
  }
  /** Of each file another part of what was written since it was synced. */
  const survivors = (): Op[] => {
    const lost = new Set<Op>()
    for (const file of Map.groupBy(ops, (op) => op.file).values()) {
      const unsynced = file.filter(({ isSynced }) => !isSynced)
      for (const op of unsynced.slice(chance.below(unsynced.length + 1))) lost.add(op)
    }
    return ops.filter((op) => !lost.has(op))
  }
  return {
    builds,
    store: () => store,
    generation: () => generation,
    keep,
    /** The last batch that is in a file. */
    positionOf: (file: string): Position =>
      ops.reduce((last, op) => (op.file === file ? Math.max(last, op.position) : last), 0),
    sync(index: IndexName): void {
      for (const op of ops) if (op.index === index) op.isSynced = true
    },
    erase(erasure: Erasure): void {
      erasures.push(erasure)
      const { index, workspaceId, position } = erasure
      const isGone = (op: Op): boolean => op.index === index && op.piece.workspaceId === workspaceId
      ops = ops.filter((op) => !isGone(op) || op.position > position)
    },
    drop(index: IndexName): void {
      ops = ops.filter((op) => op.index !== index)
      builds.delete(index)
    },
    async cutPower(): Promise<void> {
      const before = store
      const rosters = new Map<string, Roster>()
      for (const name of projections) rosters.set(name, await before.writer.roster(name))
      const stored = (await Promise.all(projections.map((name) => before.writer.builds(name)))).flat()
      generation++
      store = createMemoryIndexStore()
      ops = survivors()
      for (const [index, { projection, epoch, after, safe }] of builds) {
        await store.writer.open(index, projection, epoch, after)
        const heartbeat = stored.find((build) => build.index === index)?.heartbeat
        if (heartbeat === undefined) continue
        const { ahead: _ahead, ...told } = heartbeat
        await store.writer.heartbeat(index, { ...told, position: Math.min(told.position, safe) })
      }
      for (const op of ops) {
        op.isSynced = true
        await store.writer.write(op.index, [op.piece], { epoch: '', position: 0 })
      }
      for (const { index, workspaceId, position } of erasures) {
        if (builds.has(index)) await store.writer.eraseWorkspace(index, workspaceId, position)
      }
      for (const [name, roster] of rosters) await store.writer.changeRoster(name, { ...roster, revision: 0 })
    },
  }
}
type Disk = ReturnType<typeof createDisk>

function createWriter(
  disk: Disk,
  {
    between,
    share,
    tearing,
    chance,
  }: Readonly<{ between: () => Promise<void>; share: string | undefined; tearing: Tearing; chance: Chance }>,
): IndexWriter {
  const opened = new Map<IndexName, Opened>()
  const born = disk.generation()
  const inner = (): IndexWriter => {
    if (disk.generation() !== born)
      throw new TransientError({ operation: 'use', subject: 'an index', hint: 'no power' })
    return disk.store().writer
  }
  const openedOf = (index: IndexName): Opened => {
    const build = opened.get(index)
    if (build === undefined || !disk.builds.has(index))
      throw new PermanentError({ operation: 'use', subject: index, hint: 'open it first' })
    return build
  }
  const safeOf = (index: IndexName): Checkpoint => {
    const build = disk.builds.get(index)
    if (build === undefined) return { epoch: '', position: 0 }
    const mine = share === undefined ? 0 : (build.shares.get(share) ?? 0)
    return { epoch: build.epoch, position: Math.max(build.safe, mine) }
  }
  const sync = async (index: IndexName): Promise<void> => {
    const known = openedOf(index)
    const { written } = known
    if (written === known.safe) return
    disk.sync(index)
    await between()
    inner()
    const build = disk.builds.get(index)
    if (build === undefined) return
    // Of two writers the one that is behind does not take back what the other has made sure of.
    if (share === undefined) build.safe = Math.max(build.safe, written)
    else build.shares.set(share, written)
    known.safe = written
  }
  return {
    async open(index, projection, epoch, after = 0) {
      await inner().open(index, projection, epoch, after)
      if (!disk.builds.has(index)) disk.builds.set(index, { projection, epoch, after, safe: after, shares: new Map() })
      // What others have left unsynced is so no more.
      disk.sync(index)
      const { position } = safeOf(index)
      if (!opened.has(index)) opened.set(index, { written: position, safe: position, syncedAt: 0 })
    },
    load: async (index, keys) => inner().load(index, keys),
    async write(index, entries, { epoch, position, isAhead = false }) {
      for (const [n, piece] of piecesOf(entries, tearing, chance).entries()) {
        if (n > 0) await between()
        openedOf(index)
        await inner().write(index, [piece], { epoch, position: 0 })
        disk.keep(index, piece, position, tearing === 'documents')
      }
      const known = openedOf(index)
      if (!isAhead) known.written = Math.max(known.written, position)
    },
    checkpoint: async (index) => {
      inner()
      const known = opened.get(index)
      return known === undefined || !disk.builds.has(index) ? safeOf(index) : { ...safeOf(index), position: known.safe }
    },
    async heartbeat(index, progress) {
      const known = openedOf(index)
      if (share === undefined) await inner().heartbeat(index, progress)
      if (Math.abs(progress.at - known.syncedAt) < syncEveryMs) return
      await sync(index)
      known.syncedAt = progress.at
    },
    roster: async (projection) => inner().roster(projection),
    changeRoster: async (projection, roster) => inner().changeRoster(projection, roster),
    builds: async (projection) =>
      (await inner().builds(projection)).map((build) => ({
        ...build,
        checkpoint: disk.builds.get(build.index)?.safe ?? 0,
      })),
    async eraseWorkspace(index, workspaceId, position) {
      openedOf(index)
      await inner().eraseWorkspace(index, workspaceId, position)
      disk.erase({ index, workspaceId, position })
    },
    dropDays: async (index, kept) => inner().dropDays(index, kept),
    async drop(index) {
      opened.delete(index)
      await inner().drop(index)
      disk.drop(index)
    },
    async close() {
      for (const index of opened.keys()) if (disk.builds.has(index)) await sync(index)
      opened.clear()
    },
  }
}

/** A part that is written whole: it says which batch was the last. */
async function freezeFile(disk: Disk, index: IndexName, part: Part): Promise<FrozenPart> {
  const frozen = await disk.store().audit.freeze(index, part)
  const position = disk.positionOf(fileOf(index, part.workspaceId, part.day))
  return { ...frozen, position: (await frozen.digests()).length === 0 ? 0 : position }
}

/** Documents tell nothing of the batch that they came with: beyond where the build is recorded some of later ones may be there. */
async function freezeDocuments(disk: Disk, index: IndexName) {
  const { audit } = disk.store()
  const whole = { exact: false, position: disk.builds.get(index)?.safe ?? 0 }
  const parts = await audit.parts(index)
  const frozen = new Map<string, FrozenPart>()
  for (const part of parts) frozen.set(`${part.workspaceId}/${part.day}`, await audit.freeze(index, part))
  return {
    parts,
    async part(part: Part): Promise<FrozenPart> {
      return { ...(frozen.get(`${part.workspaceId}/${part.day}`) ?? (await audit.freeze('', part))), ...whole }
    },
  }
}

function createAudit(disk: Disk, tearing: Tearing): IndexAudit {
  const held = new Map<IndexName, Awaited<ReturnType<typeof freezeDocuments>>>()
  return {
    parts: async (index) => held.get(index)?.parts ?? disk.store().audit.parts(index),
    async hold(index) {
      if (tearing === 'documents') held.set(index, await freezeDocuments(disk, index))
      return { release: async () => void held.delete(index) }
    },
    freeze: async (index, part) =>
      tearing === 'files'
        ? freezeFile(disk, index, part)
        : (held.get(index) ?? (await freezeDocuments(disk, index))).part(part),
    async copy(from, to, workspaceId) {
      const mine = disk
        .store()
        .dump(from)
        .filter((item) => item.workspaceId === workspaceId)
      for (const [day, items] of Map.groupBy(mine, ({ entry }) => entry.day)) {
        const piece = { workspaceId, entries: items.map(({ entry }): Entry => entry) }
        await disk.store().writer.write(to, [piece], { epoch: '', position: 0 })
        disk.keep(to, piece, disk.positionOf(fileOf(from, workspaceId, day)), true)
      }
    },
    close: async () => {},
  }
}

/** Readers are led to the index that is there now. */
function createReader(disk: Disk): IndexReader {
  const reader = (): IndexReader => disk.store().reader
  return {
    progress: async (projection) => reader().progress(projection),
    get: async (scope, ids) => reader().get(scope, ids),
    search: async (scope, query) => reader().search(scope, query),
    places: async (scope, query) => reader().places(scope, query),
    count: async (scope, selection) => reader().count(scope, selection),
    histogram: async (scope, selection, stepNs, by) => reader().histogram(scope, selection, stepNs, by),
    facets: async (scope, selection, fields, valuesMax) => reader().facets(scope, selection, fields, valuesMax),
    close: async () => {},
  }
}

/** An index in memory that is torn as real ones are. */
export function createTornIndex(tearing: Tearing, chance: Chance, projections: readonly Projection[]): SimulatedIndex {
  const disk = createDisk(
    chance,
    projections.map(({ name }) => name),
  )
  return {
    open: (between, share) => createWriter(disk, { between, share, tearing, chance }),
    audit: () => createAudit(disk, tearing),
    reader: createReader(disk),
    cutPower: disk.cutPower,
    dump: (index) => disk.store().dump(index),
    aside: () => createTornIndex(tearing, chance, projections),
    remove: async () => {},
  }
}
