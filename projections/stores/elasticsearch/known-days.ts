import type { IndexName } from '../../index-store.ts'
import { objectIn, textIn } from './answer-parts.ts'
import { allBuilds, indicesOf, readNamed, tellLost, updateBuild, type Place } from './builds.ts'
import { dayIn } from './names.ts'

// A build's record names its day indices, so that an index that somebody deleted is noticed. Otherwise it would be created again with the next
// document of that day, or the day would look empty. Each partition names the indices that it meets, and removes a name before retention may remove
// the index.

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, at) => name === b[at])

type Named = Awaited<ReturnType<typeof readNamed>>

async function change(place: Place, index: IndexName, next: (before: Named) => Named | Promise<Named>): Promise<void> {
  const before = await readNamed(place, index)
  const { named, lost } = await next(before)
  const [days, lostDays] = [[...new Set(named)].sort(), [...new Set(lost)].sort()]
  if (isSame(days, before.named) && isSame(lostDays, before.lost)) return
  const missed = lostDays.filter((name) => !before.lost.includes(name))
  // First: should this be broken off, it is missed again.
  if (missed.length > 0) await tellLost(place, index, missed)
  await updateBuild(place, index, { days, lostDays })
  if (missed.length > 0) place.onLost?.(missed)
}

/** Those that the master does not know either: the node that was asked before may be behind it. */
async function gone({ elasticsearch, names }: Place, index: IndexName, missing: readonly string[]) {
  if (missing.length === 0) return []
  const { body } = await elasticsearch.send({
    operation: 'look for',
    subject: `${missing.length} indices of ${index}`,
    method: 'GET',
    path: `/_cluster/state/metadata/${names.build(index)}`,
    query: { filter_path: 'metadata.indices.*.state', ignore_unavailable: true, allow_no_indices: true },
  })
  const there = objectIn(objectIn(body['metadata'])['indices'])
  return missing.filter((name) => there[name] === undefined)
}

/** Names the existing indices, and notes for good which of the named ones are gone. */
export const noteThere = (place: Place, index: IndexName, there: readonly string[]): Promise<void> =>
  change(place, index, async ({ named, lost }) => {
    const missing = named.filter((name) => !there.includes(name))
    return { named: [...named, ...there], lost: [...lost, ...(await gone(place, index, missing))] }
  })

/** These indices have been created. If the record names one already, what it held is lost. */
export const noteMade = (place: Place, index: IndexName, made: readonly string[]): Promise<void> =>
  change(place, index, ({ named, lost }) => ({
    named: [...named, ...made],
    lost: [...lost, ...made.filter((name) => named.includes(name))],
  }))

/** Partitions share day indices: each says from which day on it needs them, and those that none needs are removed. Returns the removed ones. */
export async function dropIndicesBefore(place: Place, index: IndexName, day: string): Promise<readonly string[]> {
  const isKept = (name: string): boolean => (dayIn(name) ?? day) >= day
  await change(place, index, ({ named, lost }) => ({ named: named.filter(isKept), lost: lost.filter(isKept) }))
  if (!(await updateBuild(place, index, { keptFrom: day }))) return []
  const parts = (await allBuilds(place)).filter((source) => source['index'] === index && source['dropped'] !== true)
  const first = parts.map((source) => textIn(source['keptFrom'])).reduce((a, b) => (a < b ? a : b), day)
  const there = await indicesOf(place, index)
  await noteThere(place, index, there.filter(isKept))
  const over = there.filter((name) => (dayIn(name) ?? first) < first)
  const remove = { operation: 'drop', subject: index, method: 'DELETE', accept: [404] } as const
  for (const name of over) await place.elasticsearch.send({ ...remove, path: `/${name}` })
  return over
}
