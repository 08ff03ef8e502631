import type { IndexName } from '../../index-store.ts'
import { objectIn, textIn } from './answer-parts.ts'
import { allBuilds, indicesOf, readNamed, tellLost, updateBuild, type Place } from './builds.ts'
import { dayIn } from './names.ts'

// A build's record says which indices of days there are, so that one that was removed by hand is missed: it would be made anew as soon as
// something is written to that day, or look as if there had been nothing. Each partition names those that it meets, and no more before any
// of them may be removed because it is over.

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

/** Those that the master does not know either: the node that was asked may be behind it. */
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

/** Names the indices that are there, and notes for good which of those that were named are gone. */
export const noteThere = (place: Place, index: IndexName, there: readonly string[]): Promise<void> =>
  change(place, index, async ({ named, lost }) => {
    const missing = named.filter((name) => !there.includes(name))
    return { named: [...named, ...there], lost: [...lost, ...(await gone(place, index, missing))] }
  })

/** Indices were not there and have been made: what those held that are named is lost. */
export const noteMade = (place: Place, index: IndexName, made: readonly string[]): Promise<void> =>
  change(place, index, ({ named, lost }) => ({
    named: [...named, ...made],
    lost: [...lost, ...made.filter((name) => named.includes(name))],
  }))

/**
 * Partitions share the indices of days: each says from which day on it needs them, and those that nobody needs go. Which of them went.
 */
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
