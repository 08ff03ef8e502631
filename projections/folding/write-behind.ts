import { isOperatingFailure, PermanentError } from '#src/lib/failure.ts'
import type { EntryKey, IndexName, IndexWriter, WorkspaceEntries } from '../index-store.ts'
import { withPlace } from './with-place.ts'

/** Whether an entry is among these. Ids are gathered only when asked for: most entries are written and never loaded. */
function createHolds(written: readonly WorkspaceEntries[]): (key: EntryKey) => boolean {
  const gathered = new Map<string, ReadonlySet<string>>()
  const gather = ({ workspaceId, collection }: EntryKey): ReadonlySet<string> => {
    const mine = written.filter((changes) => changes.workspaceId === workspaceId).flatMap(({ entries }) => entries)
    return new Set(mine.filter((entry) => entry.collection === collection).map(({ id }) => id))
  }
  return (key) => {
    const name = `${key.workspaceId}\0${key.collection}`
    const ids = gathered.get(name) ?? gather(key)
    gathered.set(name, ids)
    return ids.has(key.id)
  }
}

/** A write under way. The next call awaits it; until then a failure must not end the process. */
type UnderWay = Readonly<{ holds: (key: EntryKey) => boolean; done: Promise<void> }>

/** Of what was written before: whoever meets it with the next batch must not look for its reason there. */
const ofEarlier = (index: IndexName, cause: unknown): Error =>
  isOperatingFailure(cause)
    ? cause
    : new PermanentError({ operation: 'write', subject: index, cause: withPlace(cause) })

/**
 * A writer that does not wait: `write` resolves when the write before it is done, so that the next batch is folded while another process stores
 * this one. Everything else waits for the write under way; `load` only if it asks for one of its entries. If a write fails, the next call
 * fails. `heartbeat` reports no more than is written, so send one before `close` to be sure that all is written. For folds that can be resumed
 * from their checkpoint.
 */
export function createWriteBehind(writer: IndexWriter): IndexWriter {
  const underWay = new Map<IndexName, UnderWay>()
  const settled = async (index: IndexName): Promise<void> => {
    const { done } = underWay.get(index) ?? {}
    underWay.delete(index)
    await done
  }
  const allSettled = async (): Promise<void> => {
    for (const index of underWay.keys()) await settled(index)
  }
  /** Runs a task after the writes under way, of one index or of all. */
  const after = async <T>(index: IndexName | undefined, task: () => Promise<T>): Promise<T> => {
    await (index === undefined ? allSettled() : settled(index))
    return task()
  }
  return {
    open: (index, ...given) => after(index, () => writer.open(index, ...given)),
    async load(index, keys) {
      const { holds } = underWay.get(index) ?? {}
      if (holds !== undefined && keys.some(holds)) await settled(index)
      return writer.load(index, keys)
    },
    async write(index, entries, checkpoint) {
      await settled(index)
      const done = writer.write(index, entries, checkpoint).catch((error: unknown) => {
        throw ofEarlier(index, error)
      })
      done.catch(() => undefined)
      underWay.set(index, { holds: createHolds(entries), done })
    },
    checkpoint: (index) => after(index, () => writer.checkpoint(index)),
    heartbeat: (index, progress) => after(index, () => writer.heartbeat(index, progress)),
    roster: (projection) => after(undefined, () => writer.roster(projection)),
    changeRoster: (projection, roster) => after(undefined, () => writer.changeRoster(projection, roster)),
    builds: (projection) => after(undefined, () => writer.builds(projection)),
    eraseWorkspace: (index, ...given) => after(index, () => writer.eraseWorkspace(index, ...given)),
    dropDays: (index, kept) => after(index, () => writer.dropDays(index, kept)),
    drop: (index) => after(index, () => writer.drop(index)),
    async close() {
      const writes = [...underWay.values()].map(({ done }) => done)
      try {
        await allSettled()
      } finally {
        // One that fails leaves others under way.
        await Promise.allSettled(writes)
        await writer.close()
      }
    },
  }
}
