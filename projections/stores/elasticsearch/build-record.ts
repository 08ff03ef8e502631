import { parseJson, type JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Heartbeat, MissedDay, StoredBuild } from '../../index-store.ts'
import { formatAhead, parseAhead } from '../ahead-text.ts'
import type { Shapes } from '../row.ts'
import { numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import type { Days } from './indices.ts'
import { dayIn } from './names.ts'

// What the record of a build in one partition says. Its fields: `index`, `partition`, `epoch`, `after`, `shapes` since it was made; `checkpoint`,
// `heartbeat`; `shares`, the checkpoints of several writers; `days`, `lostDays`, `closedDays`, `toldLost`, `keptFrom` (known-days.ts); `erased`
// (erase.ts); `dropped`.

/** The epoch of a build that this partition has dropped while others still use it. No log has this name. */
const droppedEpoch = '(dropped)'

function heartbeatIn(source: JsonObject): Heartbeat {
  const of = objectIn(source['heartbeat'])
  const ahead = parseAhead(of['ahead'])
  const last = objectIn(of['last'])
  const event = textIn(last['event'])
  const lacking = valuesIn(of['lacking']).map((id) => workspaceIdOf(textIn(id)))
  return {
    position: numberIn(of['position']),
    head: numberIn(of['head']),
    at: numberIn(of['at']),
    caughtUpAt: numberIn(of['caughtUpAt']),
    ...(ahead && { ahead }),
    ...(event !== '' && { last: { position: numberIn(last['position']), event } }),
    ...(lacking.length > 0 && { lacking }),
  }
}

/** Each part of it: an update keeps what it does not name. */
const heartbeatFields = ({ position, head, at, caughtUpAt, ahead, last, lacking }: Heartbeat): JsonObject => ({
  position,
  head,
  at,
  caughtUpAt,
  ahead: ahead === undefined ? null : formatAhead(ahead),
  last: last === undefined ? null : { ...last },
  lacking: lacking === undefined ? null : [...lacking],
})

/** What a build's record says of its progress. */
export type BuildProgress = Readonly<{ checkpoint: Position; heartbeat: Heartbeat }>

export const progressIn = (source: JsonObject): BuildProgress => ({
  checkpoint: numberIn(source['checkpoint']),
  heartbeat: heartbeatIn(source),
})

/** The fields that tell the furthest of both: what is written and found stays so, while a late owner of the partition knows only its own. */
export function furthestOf(stored: BuildProgress, told: BuildProgress): JsonObject {
  const checkpoint = Math.max(stored.checkpoint, told.checkpoint)
  const [before, now] = [stored.heartbeat, told.heartbeat]
  if (before.position <= now.position) return { checkpoint, heartbeat: heartbeatFields(now) }
  const latest = (part: 'head' | 'at' | 'caughtUpAt'): number => Math.max(before[part], now[part])
  const parts = { head: latest('head'), at: latest('at'), caughtUpAt: latest('caughtUpAt') }
  return { checkpoint, heartbeat: heartbeatFields({ ...before, ...parts }) }
}

/** The checkpoint of one of several writers that share the build; 0 before it has one. */
export const shareIn = (source: JsonObject, share: string): Position => numberIn(objectIn(source['shares'])[share])

/** The fields that tell a checkpoint, of all or of one share; never less, as another owner may have come further. */
export const checkpointFields = (source: JsonObject, checkpoint: Position, share: string | undefined): JsonObject =>
  share === undefined
    ? { checkpoint: Math.max(checkpoint, numberIn(source['checkpoint'])) }
    : { shares: { ...objectIn(source['shares']), [share]: Math.max(checkpoint, shareIn(source, share)) } }

export function storedBuild(source: JsonObject): StoredBuild {
  return {
    index: textIn(source['index']),
    epoch: source['dropped'] === true ? droppedEpoch : textIn(source['epoch']),
    after: numberIn(source['after']),
    ...progressIn(source),
    lostDays: lostDaysIn(source),
  }
}

/** The days of lost indices, each once, though every collection has its own index; then those that have only closed ones. */
function lostDaysIn(source: JsonObject): readonly MissedDay[] {
  const keptFrom = textIn(source['keptFrom'])
  const told = Object.keys(objectIn(source['toldLost'])).filter((name) => (dayIn(name) ?? '') >= keptFrom)
  const daysOf = (names: readonly string[]): ReadonlySet<string> => new Set(names.flatMap((name) => dayIn(name) ?? []))
  const lost = daysOf([...valuesIn(source['lostDays']).map(textIn), ...told])
  const closed = [...daysOf(closedIn(source))].filter((day) => !lost.has(day))
  return [
    ...[...lost].sort().map((day): MissedDay => ({ day })),
    ...closed.sort().map((day): MissedDay => ({ day, isClosed: true })),
  ]
}

/** The collections of the build, by name. */
export const shapesIn = (source: JsonObject): Shapes => parseJson(textIn(source['shapes'])) as unknown as Shapes

/** The day indices that a record names. Earlier programs noted names alone: then a UUID is ''. */
export const daysIn = (source: JsonObject): Days =>
  new Map(
    valuesIn(source['days']).map((day) =>
      typeof day === 'string' ? [day, ''] : [textIn(objectIn(day)['name']), textIn(objectIn(day)['uuid'])],
    ),
  )

/** Those of which it was last seen that somebody has closed them. */
const closedIn = (source: JsonObject): readonly string[] => valuesIn(source['closedDays']).map(textIn)

type Named = Readonly<{ named: Days; lost: readonly string[]; closed: readonly string[] }>

/** The day indices that a build names, and of these the ones that are lost, or closed (known-days.ts). */
export const namedIn = (source: JsonObject): Named => ({
  named: daysIn(source),
  lost: valuesIn(source['lostDays']).map(textIn),
  closed: closedIn(source),
})

export const fieldsOfNamed = ({ named, lost, closed }: Named): JsonObject => ({
  days: [...named.keys()].sort().map((name) => ({ name, uuid: named.get(name) ?? '' })),
  lostDays: [...lost].sort(),
  closedDays: [...closed].sort(),
})
