import type { IndexName, IndexWriter, Roster } from '#projections/index-store.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import type { Spoil } from './stage.ts'

/** The writer, with something else in the place of some of its calls. */
type Change = (writer: IndexWriter) => Partial<IndexWriter>
const withWriter = (change: Change): Spoil => ({ writer: (writer) => ({ ...writer, ...change(writer) }) })

type Append = Stream['append']
const withAppend = (change: (append: Append, log: Stream) => Append): Spoil => ({
  log: (log) => ({ ...log, append: change(log.append, log) }),
})

/** A fold that does not know which event a document has had last. */
const noPositionGuard = (): Spoil =>
  withWriter(({ load }) => ({
    load: async (index, keys) =>
      (await load(index, keys)).map((entries) => entries.map((entry) => ({ ...entry, position: 0, created: 0 }))),
  }))

/** A checkpoint that names what was given to be written, whether it is durable or not. */
function checkpointAhead(): Spoil {
  const ahead = new Map<IndexName, number>()
  return withWriter((writer) => ({
    write: async (index, entries, checkpoint) => {
      ahead.set(index, Math.max(checkpoint.position, ahead.get(index) ?? 0))
      return writer.write(index, entries, checkpoint)
    },
    checkpoint: async (index) => {
      const { epoch, position } = await writer.checkpoint(index)
      return { epoch, position: epoch === '' ? 0 : Math.max(position, ahead.get(index) ?? 0) }
    },
    drop: async (index) => {
      ahead.delete(index)
      return writer.drop(index)
    },
  }))
}

/** What is written ahead of its turn is taken for all that stands before it. */
const aheadForAll = (): Spoil =>
  withWriter(({ write }) => ({
    write: (index, entries, { epoch, position }) => write(index, entries, { epoch, position }),
  }))

/** Who waits is told what is found of those who do not. */
const nobodyBehind = (): Spoil =>
  withWriter(({ heartbeat }) => ({
    heartbeat: (index, { ahead, ...progress }) =>
      heartbeat(index, ahead === undefined ? progress : { ...progress, ahead: { ...ahead, behind: new Map() } }),
  }))

/** Readers move to a build as soon as it is begun. */
function promotedAtOnce({ revision, live, followed }: Roster): Roster {
  const begun = followed.find(({ as }) => as === 'building')
  if (begun === undefined || live === undefined) return { revision, live, followed }
  const others = followed.filter((build) => build !== begun)
  return { revision, live: begun.index, followed: [...others, { index: live, as: 'kept' }] }
}

const promotionTooSoon = (): Spoil =>
  withWriter(({ changeRoster }) => ({
    changeRoster: (projection, roster) => changeRoster(projection, promotedAtOnce(roster)),
  }))

/** Which events were folded is known as long as a process lives. */
const dedupeForgotten = (): Spoil =>
  withWriter(({ load }) => ({
    load: async (index, keys) =>
      (await load(index, keys)).map((entries, at) => (keys[at]?.collection === 'seenEvents' ? [] : entries)),
  }))

/** Readers are told that nothing is missing. */
const tellsTooMuch = (): Spoil =>
  withWriter(({ heartbeat }) => ({
    heartbeat: (index, progress) => heartbeat(index, { ...progress, position: progress.head }),
  }))

/** A ledger that is written wherever it stands. */
const ledgerUnguarded = (): Spoil =>
  withAppend(
    (append) => (events, expected) =>
      append(events, expected?.subject.startsWith('allowance.') === true ? undefined : expected),
  )

/** A log that acknowledges what it has not written, now and then. */
function ackBeforeDurable(): Spoil {
  let appends = 0
  return withAppend((append, log) => async (events, expected) => {
    if (++appends % 10 !== 0) return append(events, expected)
    const position = await log.head()
    return { last: position, duplicates: 0, events: events.map(() => ({ position })) }
  })
}

/** A writer that loses the last entry of a batch, once in a while. */
function entryLost(): Spoil {
  let writes = 0
  return withWriter(({ write }) => ({
    write: (index, entries, checkpoint) => {
      if (++writes % 50 !== 0) return write(index, entries, checkpoint)
      const kept = entries.map((of) => ({ ...of, entries: of.entries.slice(0, -1) }))
      return write(index, kept, checkpoint)
    },
  }))
}

/** A build keeps what it holds of a workspace that was erased. */
const erasureForgotten = (): Spoil => withWriter(() => ({ eraseWorkspace: async () => undefined }))

/** A log that says it has erased a workspace, and has not. */
const eraseUndone = (): Spoil => ({
  log: (log) => ({ ...log, erase: async () => undefined, isLeft: async () => false }),
})

/** What passes by itself is taken for what does not. */
const givesUp = (): Spoil =>
  withWriter(({ load }) => {
    let loads = 0
    return {
      load: async (index, keys) => {
        if (++loads % 12 === 0) throw new PermanentError({ operation: 'load', subject: index })
        return load(index, keys)
      },
    }
  })

/** Bugs as they are made, each of which the simulation must find. */
export const canaries: Readonly<Record<string, () => Spoil>> = {
  'no position guard': noPositionGuard,
  'a checkpoint ahead of its entries': checkpointAhead,
  'a checkpoint moved by what is folded ahead of its turn': aheadForAll,
  'progress that leaves out who is behind': nobodyBehind,
  'promotion before a build has caught up': promotionTooSoon,
  'repeats forgotten when a projector starts': dedupeForgotten,
  'progress that is told before it is made': tellsTooMuch,
  'a ledger that does not look where it stands': ledgerUnguarded,
  'acknowledged before it is durable': ackBeforeDurable,
  'an entry lost': entryLost,
  'a projection that gives up': givesUp,
  'a build that keeps what was erased': erasureForgotten,
  'a log that keeps what was erased': eraseUndone,
}
