import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import type { Call } from '#test/support/reach.ts'

/** An index as a process reaches it. Unless it is near, a batch may come long after it was given up; all else is done by then, or never. */
export function reachWriter(writer: IndexWriter, call: Call, { isNear = false } = {}): IndexWriter {
  const written = isNear ? 'prompt' : 'any'
  return {
    open: (index, ...more) => call(`open ${index}`, 'prompt', () => writer.open(index, ...more)),
    load: (index, keys) => call(`load ${index}`, 'none', () => writer.load(index, keys)),
    write: (index, entries, checkpoint) =>
      call(`write ${index} to ${checkpoint.position}`, written, () => writer.write(index, entries, checkpoint)),
    checkpoint: (index) => call(`checkpoint ${index}`, 'none', () => writer.checkpoint(index)),
    heartbeat: (index, progress) =>
      call(`heartbeat ${index} at ${progress.position}`, 'prompt', () => writer.heartbeat(index, progress)),
    roster: (projection) => call(`roster ${projection}`, 'none', () => writer.roster(projection)),
    changeRoster: (projection, roster) =>
      call(`roster ${JSON.stringify(roster)}`, 'prompt', () => writer.changeRoster(projection, roster)),
    builds: (projection) => call(`builds ${projection}`, 'none', () => writer.builds(projection)),
    eraseWorkspace: (index, workspaceId, position) =>
      call(`erase ${workspaceId} in ${index}`, 'prompt', () => writer.eraseWorkspace(index, workspaceId, position)),
    dropDays: (index, kept) => call(`drop days of ${index}`, 'prompt', () => writer.dropDays(index, kept)),
    drop: (index) => call(`drop ${index}`, 'prompt', () => writer.drop(index)),
    close: () => writer.close(),
  }
}

export function reachAudit(audit: IndexAudit, call: Call): IndexAudit {
  return {
    ...audit,
    parts: (index) => call(`parts ${index}`, 'none', () => audit.parts(index)),
    freeze: (index, part) => call(`freeze ${index} ${part.day}`, 'none', () => audit.freeze(index, part)),
    copy: (from, to, workspaceId) => call(`copy ${from}`, 'prompt', () => audit.copy(from, to, workspaceId)),
  }
}

export function reachReader(reader: IndexReader, call: Call): Pick<IndexReader, 'progress' | 'get' | 'search'> {
  return {
    progress: (projection) => call(`progress ${projection}`, 'none', () => reader.progress(projection)),
    get: (scope, ids) => call(`get ${scope.collection}`, 'none', () => reader.get(scope, ids)),
    search: (scope, query) => call(`search ${scope.collection}`, 'none', () => reader.search(scope, query)),
  }
}
