import type { IndexReader, Progress } from '../index-store.ts'

/** The combined progress of the indexes that an answer uses: that of the one furthest behind, and complete only if each of them is. */
export async function progressOf(reader: IndexReader, projections: readonly string[]): Promise<Progress | undefined> {
  const asked = await Promise.all(projections.map((name) => reader.progress(name)))
  const all = asked.filter((progress) => progress !== undefined)
  const [last] = all.toSorted((a, b) => a.position - b.position)
  if (last === undefined || all.length < asked.length) return undefined
  return {
    ...last,
    head: Math.max(...all.map(({ head }) => head)),
    at: Math.min(...all.map(({ at }) => at)),
    caughtUpAt: Math.min(...all.map(({ caughtUpAt }) => caughtUpAt)),
    isOfAnotherVersion: all.some(({ isOfAnotherVersion }) => isOfAnotherVersion),
    lostDays: all.flatMap(({ lostDays = [] }) => lostDays),
    lacking: all.flatMap(({ lacking = [] }) => lacking),
  }
}
