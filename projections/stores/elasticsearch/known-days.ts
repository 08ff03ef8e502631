import type { IndexName, MissedDay } from '../../index-store.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { numberIn, objectIn, textIn } from './answer-parts.ts'
import { daysIn, fieldsOfNamed, namedIn, storedBuild } from './build-record.ts'
import { changeBuild, recordOf, recordsOfBuild } from './builds.ts'
import { listDayIndices, noDays, passedOver, removeIndices, setBack, type Days, type StoredDays } from './indices.ts'
import { dayIn } from './names.ts'
import type { DayHearers, Place } from './place.ts'
import { daysWithReplaced } from './replaced-shards.ts'

// A build's record names its day indices, each with its UUID, so that an index that somebody deleted is noticed. Otherwise it would be created again
// with the next document of that day, or the day would look empty. The UUID tells an index made anew from one that another process has just made, such
// as another partition, or the earlier owner of this one. Each partition names the indices that it meets, and removes a name before retention may
// remove the index.
// An index that somebody has closed still exists, but searches skip it. So the record says which ones are closed, as long as they are.

/** Those that are not there, or only under this name. A UUID is '' where the program that named the index noted none. */
const missedOf = (named: Days, there: Days): readonly string[] =>
  [...named]
    .filter(([name, uuid]) => !there.has(name) || (uuid !== '' && there.get(name) !== uuid))
    .map(([name]) => name)

/** What is missing of a build's days: `there` are all that exist, `replaced` those of them that have lost a shard. */
type Looked = Readonly<{ there: Days; replaced: readonly string[] }>

const lackingOf = (named: Days, { there, replaced }: Looked): readonly string[] => [
  ...new Set([...missedOf(named, there), ...replaced.filter((name) => named.has(name))]),
]

/** Notes in the records of all other partitions which of these indices they miss: who makes one anew first may be the only one to see it. */
async function tellOthers(place: Place, index: IndexName, names: readonly string[], looked: Looked): Promise<void> {
  const missedIn = (source: JsonObject): readonly string[] =>
    lackingOf(daysIn(source), looked).filter((name) => names.includes(name))
  for (const source of await recordsOfBuild(place, index)) {
    const partition = numberIn(source['partition'])
    if (partition === place.partition || missedIn(source).length === 0) continue
    // Beside what those write themselves.
    await changeBuild({ ...place, partition }, index, (now) => {
      const missed = missedIn(now)
      if (missed.length === 0) return undefined
      return { toldLost: { ...objectIn(now['toldLost']), ...Object.fromEntries(missed.map((name) => [name, true])) } }
    })
  }
}

/** What the record did not say yet: `missed` days are gone, `shut` ones closed or passed over by searches. `hidden`: all that searches pass over. */
type News = Readonly<Record<'missed' | 'shut' | 'hidden', readonly string[]>>

/** Tells who hears of days, and sets back what can be. */
async function tellNews(place: Place, stored: StoredDays, { missed, shut, hidden }: News): Promise<void> {
  // First of all what is noted now, and not told again.
  if (missed.length > 0) place.onLost?.(missed)
  if (stored.beside.length > 0) place.onBeside?.(stored.beside)
  const tell = (hear: DayHearers['onLazy'], names: readonly string[], changed: readonly string[]): void => {
    const those = names.filter((name) => changed.includes(name))
    if (those.length > 0) hear?.(those)
  }
  tell(place.onClosed, stored.closed, shut)
  tell(place.onPassedOver, hidden, shut)
  const back = await setBack(place, stored)
  tell(place.onLazy, stored.lazy, back)
  tell(place.onPiped, stored.piped, back)
}

/**
 * Names the indices that exist and are among those wanted, and notes for good which of those named before are gone. In this order: what is named is
 * there, if nobody removed it. What the partition has let go of is not named again: others may remove it. Of those named, notes too which are closed
 * now. Returns all that exist; undefined if the build is dropped.
 */
export async function noteDays(
  place: Place,
  index: IndexName,
  isWanted: (name: string) => boolean,
): Promise<StoredDays | undefined> {
  let stored = noDays
  let news: News = { missed: [], shut: [], hidden: [] }
  const record = await changeBuild(place, index, async (source) => {
    const { named: all, lost, closed: shutBefore } = namedIn(source)
    // Earlier programs named copies too.
    const named = new Map([...all].filter(([name]) => place.names.isDay(index, name)))
    const keptFrom = textIn(source['keptFrom'])
    stored = await listDayIndices(place, index)
    const { days: there } = stored
    const looked = { there, replaced: await daysWithReplaced(place, index, stored) }
    const isMet = (name: string): boolean =>
      named.has(name) || (isWanted(name) && (dayIn(name) ?? keptFrom) >= keptFrom)
    const met = [...there].filter(([name, uuid]) => isMet(name) && named.get(name) !== uuid)
    const missed = lackingOf(named, looked).filter((name) => !lost.includes(name))
    const changed = [...missed, ...met.map(([name]) => name)]
    const hidden = await passedOver(place, stored)
    const closed = [...stored.closed, ...hidden].filter(isMet)
    const shut = closed.filter((name) => !shutBefore.includes(name))
    news = { missed, shut, hidden }
    if (changed.length === 0 && shut.length === 0 && closed.length === shutBefore.length) return undefined
    // First: should this be broken off, it is missed again.
    if (changed.length > 0) await tellOthers(place, index, changed, looked)
    return fieldsOfNamed({ named: new Map([...named, ...met]), lost: [...lost, ...missed], closed })
  })
  if (record === undefined) return undefined
  await tellNews(place, stored, news)
  return stored
}

/**
 * The days that a build has lost, also those that nobody has noted yet. Nothing is noted: who folds the build does that, and tells it. Between two looks
 * at the record: what retention removes meanwhile is named no more in the second.
 */
export async function missedDays(place: Place, index: IndexName): Promise<readonly MissedDay[]> {
  const before = await recordOf(place, index)
  if (before === undefined) return []
  const stored = await listDayIndices(place, index)
  const looked = { there: stored.days, replaced: await daysWithReplaced(place, index, stored) }
  const after = (await recordOf(place, index)) ?? {}
  const { lostDays = [] } = storedBuild(after)
  const named = daysIn(after)
  const missed = lackingOf(daysIn(before), looked).filter((name) => named.has(name) && place.names.isDay(index, name))
  const days = new Set(missed.flatMap((name) => dayIn(name) ?? []))
  for (const { day, isClosed } of lostDays) if (isClosed !== true) days.delete(day)
  return [...lostDays, ...[...days].sort().map((day): MissedDay => ({ day }))]
}

/** Partitions share day indices: each says from which day on it needs them, and those that none needs are removed. Returns the removed ones. */
export async function dropIndicesBefore(place: Place, index: IndexName, day: string): Promise<readonly string[]> {
  const isKept = (name: string): boolean => (dayIn(name) ?? day) >= day
  await changeBuild(place, index, (source) => {
    const { named, lost, closed } = namedIn(source)
    const kept = {
      named: new Map([...named].filter(([name]) => isKept(name))),
      lost: lost.filter(isKept),
      closed: closed.filter(isKept),
    }
    return { ...fieldsOfNamed(kept), keptFrom: day }
  })
  const there = (await noteDays(place, index, isKept))?.days
  if (there === undefined) return []
  const parts = (await recordsOfBuild(place, index)).filter((source) => source['dropped'] !== true)
  const first = parts.map((source) => textIn(source['keptFrom'])).reduce((a, b) => (a < b ? a : b), day)
  const over = [...there.keys()].filter((name) => (dayIn(name) ?? first) < first)
  await removeIndices(place, index, over)
  return over
}
