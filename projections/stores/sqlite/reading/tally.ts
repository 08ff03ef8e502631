import type { Database, Value } from '../database.ts'
import { bucketSql } from '../layout.ts'
import { msSql, valueIds, valueIdSql } from '../rowid-parts.ts'

/** The rows to count: `FROM … WHERE …`, and the column that holds the rowid. */
export type From = Readonly<{ sql: string; values: readonly Value[]; rowid: string }>

/** By the number of a step of time and the id of values: the number of rows. */
export type Tally = ReadonlyMap<number, ReadonlyMap<number, number>>

/** Adds to the count of a value in a step of time. */
export function addTo<Step, Value>(sums: Map<Step, Map<Value, number>>, step: Step, value: Value, count: number): void {
  const ofStep = sums.get(step) ?? new Map<Value, number>()
  sums.set(step, ofStep)
  ofStep.set(value, (ofStep.get(value) ?? 0) + count)
}

/** Counts from rowids, in one walk for all questions of one moment: a page's histogram, facets and count are mostly of the same rows. */
export type Tallies = Readonly<{
  /** In steps of whole milliseconds; without a step, in any steps. */
  of(from: From, stepNs: bigint | undefined): Tally
  count(from: From): number
  /** What `sum` finds under a name, or what it found in shorter steps. */
  kept(name: string, stepNs: bigint, sum: () => Tally): Tally
}>

/**
 * Counts pairs of step and id. SQLite would sort what it groups, which costs more than all the rest. Rowids mostly come in the order of time, so only
 * the counts of one step are open at a time.
 */
function createPairs() {
  const steps = new Map<number, Map<number, number>>()
  const counts = new Uint32Array(Number(valueIds))
  let ids: number[] = []
  let current = 0
  const end = (): void => {
    if (ids.length === 0) return
    const ofStep = steps.get(current) ?? new Map<number, number>()
    steps.set(current, ofStep)
    for (const id of ids) {
      ofStep.set(id, (ofStep.get(id) ?? 0) + (counts[id] ?? 0))
      counts[id] = 0
    }
    ids = []
  }
  return {
    add(this: void, step: number, id: number): void {
      if (step !== current) end()
      current = step
      const before = counts[id] ?? 0
      if (before === 0) ids.push(id)
      counts[id] = before + 1
    },
    end(): Tally {
      end()
      return steps
    },
  }
}

function walk(database: Database, { sql, values, rowid }: From, stepNs: bigint | undefined): Tally {
  const step = stepNs === undefined ? '0' : bucketSql(msSql(rowid), stepNs / 1_000_000n)
  const pairs = createPairs()
  database.hear([step, valueIdSql(rowid)], sql, values, pairs.add)
  return pairs.end()
}

const total = (tally: Tally): number => {
  let sum = 0
  for (const ofStep of tally.values()) for (const count of ofStep.values()) sum += count
  return sum
}

/** The same in steps that are so many times as long. */
function inLongerSteps(tally: Tally, times: number): Tally {
  if (times === 1) return tally
  const longer = new Map<number, Map<number, number>>()
  for (const [step, ofStep] of tally) {
    for (const [id, count] of ofStep) addTo(longer, Math.floor(step / times), id, count)
  }
  return longer
}

/** How many tallies are kept: for a range, its edges, and the rows to subtract. */
const talliesMax = 8
/** The most pairs of a tally that is kept. */
const pairsMax = 100_000

const isSmall = (tally: Tally): boolean => {
  let pairs = 0
  for (const ofStep of tally.values()) pairs += ofStep.size
  return pairs <= pairsMax
}

export function createTallies(database: Database): Tallies {
  const kept = new Map<string, Readonly<{ stepNs: bigint | undefined; tally: Tally }>>()
  const keep = (name: string, stepNs: bigint | undefined, tally: Tally): Tally => {
    if (kept.size >= talliesMax) kept.clear()
    if (isSmall(tally)) kept.set(name, { stepNs, tally })
    return tally
  }
  const nameOf = ({ sql, values }: From): string => JSON.stringify([sql, values.map(String)])
  return {
    of(from, stepNs) {
      const name = nameOf(from)
      const known = kept.get(name)
      if (known !== undefined && (stepNs === undefined || stepNs === known.stepNs)) return known.tally
      return keep(name, stepNs, walk(database, from, stepNs))
    },
    count(from) {
      const known = kept.get(nameOf(from))
      if (known !== undefined) return total(known.tally)
      return Number(database.get(`SELECT count(*) AS n ${from.sql}`, ...from.values)?.['n'] ?? 0)
    },
    kept(name, stepNs, sum) {
      const known = kept.get(name)
      if (known?.stepNs === undefined || stepNs % known.stepNs !== 0n) return keep(name, stepNs, sum())
      return inLongerSteps(known.tally, Number(stepNs / known.stepNs))
    },
  }
}
