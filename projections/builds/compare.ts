import type { Position } from '#src/events/envelope.ts'
import type { Digest, Fingerprint, FrozenPart, Part, SearchItem } from '../index-audit.ts'
import type { DocumentId } from '../projection.ts'
import type { Horizon } from './horizon.ts'

type Stored = Readonly<Record<string, string>>

/**
 * A difference between an index and the fold of the log. `entry`: an entry is missing (no `indexed`), should not be there (no `expected`), or
 * differs. `search`: the entry is right, but a term or a count by which it is found is not.
 */
export type Difference = Part &
  Readonly<{ collection: string; id: DocumentId; indexed?: Stored; expected?: Stored }> &
  (Readonly<{ kind: 'entry' }> | Readonly<{ kind: 'search'; item: string }>)

/**
 * An entry that cannot be judged at the part's position, because the part is not `exact`. With a `hash`: it is right if the fold has the same
 * at the entry's own position. Without: the entry is gone, which is right if a later event has replaced it.
 */
export type Later = Part &
  Readonly<{ collection: string; id: DocumentId }> &
  Readonly<{ hash: string; position: Position } | { hash?: never; position?: never }>

/** `different`: how many differ, without those to be judged `later`; `differences`: the first of them. */
export type Comparison = Readonly<{
  entries: number
  different: number
  differences: readonly Difference[]
  later: readonly Later[]
}>

type Pair<T> = Readonly<{ name: string; indexed: T | undefined; expected: T | undefined }>

/** Both sides come in the order of code points. */
const isBefore = (a: string, b: string): boolean => Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0

/** One side of a walk: the next name, and the next item if it has a given name. */
async function openSide<T>(items: AsyncIterable<T>, nameOf: (item: T) => string) {
  const iterator = items[Symbol.asyncIterator]()
  let next = await iterator.next()
  return {
    name: (): string | undefined => (next.done === true ? undefined : nameOf(next.value)),
    async take(name: string): Promise<T | undefined> {
      if (next.done === true || nameOf(next.value) !== name) return undefined
      const { value } = next
      next = await iterator.next()
      return value
    },
    end: async (): Promise<void> => void (await iterator.return?.()),
  }
}

const firstOf = (a: string | undefined, b: string | undefined): string | undefined =>
  a === undefined || (b !== undefined && isBefore(b, a)) ? b : a

/** The items of two ordered lists, paired by name. */
async function* pairs<T>(
  indexed: AsyncIterable<T>,
  expected: AsyncIterable<T>,
  nameOf: (item: T) => string,
): AsyncGenerator<Pair<T>> {
  const [left, right] = [await openSide(indexed, nameOf), await openSide(expected, nameOf)]
  try {
    for (let name = firstOf(left.name(), right.name()); name !== undefined; name = firstOf(left.name(), right.name())) {
      yield { name, indexed: await left.take(name), expected: await right.take(name) }
    }
  } finally {
    await left.end()
    await right.end()
  }
}

type WrongItem = Pair<SearchItem>
const nameOf = ({ name }: SearchItem): string => name

/** A part of the index, and the same part of the fold at the same position. */
export type Sides = Readonly<{ part: Part; indexed: FrozenPart; expected: FrozenPart; horizon: Horizon }>

/** How many differing ids are remembered, so that their terms are not reported again. */
const knownMax = 10_000

function createFindings({ indexed, expected, part }: Sides, namedMax: number) {
  const differences: Difference[] = []
  let different = 0
  const sidesOf = async (collection: string, id: DocumentId) => {
    const [is, should] = [await indexed.stored(collection, id), await expected.stored(collection, id)]
    return { ...(is === undefined ? {} : { indexed: is }), ...(should === undefined ? {} : { expected: should }) }
  }
  /** What is found in one collection. */
  const within = (collection: string) => {
    const known = new Set<DocumentId>()
    /** Entries that cannot be judged (horizon.ts). */
    const excused = new Set<DocumentId>()
    return {
      excused: (): ReadonlySet<DocumentId> => excused,
      knows: (id: DocumentId): boolean => known.has(id) || excused.has(id),
      excuse: (id: DocumentId): void => void excused.add(id),
      async entry(id: DocumentId): Promise<void> {
        different++
        if (known.size < knownMax) known.add(id)
        if (differences.length >= namedMax) return
        differences.push({ ...part, collection, id, kind: 'entry', ...(await sidesOf(collection, id)) })
      },
      search(id: DocumentId, { name, indexed: is, expected: should }: WrongItem): void {
        different++
        if (differences.length >= namedMax) return
        differences.push({
          ...part,
          collection,
          id,
          kind: 'search',
          item: name,
          ...(is && { indexed: { [name]: is.value } }),
          ...(should && { expected: { [name]: should.value } }),
        })
      },
    }
  }
  return { differences, count: () => different, within }
}
type Findings = ReturnType<ReturnType<typeof createFindings>['within']>

/** What later events may have changed is judged later, if the part may hold some. Documents are never removed. */
async function laterOf(
  { part, indexed, expected }: Sides,
  collection: string,
  id: DocumentId,
  is: Fingerprint | undefined,
): Promise<Later | undefined> {
  if (indexed.exact) return undefined
  if (is === undefined) {
    const isRecord = (await expected.entry(collection, id))?.created === undefined
    return isRecord ? { ...part, collection, id } : undefined
  }
  const { hash, position } = is
  return position > indexed.position ? { ...part, collection, id, hash, position } : undefined
}

async function compareEntries(sides: Sides, collection: string, findings: Findings): Promise<readonly Later[]> {
  const later: Later[] = []
  const all = pairs(sides.indexed.fingerprints(collection), sides.expected.fingerprints(collection), ({ id }) => id)
  for await (const { name, indexed, expected } of all) {
    if (indexed?.hash === expected?.hash) continue
    if (await sides.horizon.isUnsure(sides.part.workspaceId, collection, name)) {
      findings.excuse(name)
      continue
    }
    const postponed = await laterOf(sides, collection, name, indexed)
    if (postponed === undefined) await findings.entry(name)
    else later.push(postponed)
  }
  return later
}

/** By how much entries that cannot be judged make the right counts differ from the indexed ones, by item. */
type Excused = ReadonlyMap<string, number>

async function excusedCounts({ indexed, expected }: Sides, collection: string, findings: Findings): Promise<Excused> {
  const excused = new Map<string, number>()
  for (const id of findings.excused()) {
    for (const [side, sign] of [[indexed, -1] as const, [expected, 1] as const]) {
      for (const { name, value } of await side.countsOf(collection, id))
        excused.set(name, (excused.get(name) ?? 0) + sign * Number(value))
    }
  }
  return excused
}

const isExcused = ({ name, indexed, expected }: WrongItem, excused: Excused): boolean =>
  excused.has(name) && Number(indexed?.value ?? 0) + (excused.get(name) ?? 0) === Number(expected?.value ?? 0)

/** Reports the entries that a wrong term leads to. False if it leads to none. */
async function nameEntries(sides: Sides, collection: string, item: WrongItem, findings: Findings): Promise<boolean> {
  const { name } = item
  const [is, should] = [sides.indexed.entriesOf(collection, name), sides.expected.entriesOf(collection, name)]
  let led = 0
  for await (const entry of pairs(is, should, nameOf)) {
    led++
    if (entry.indexed?.value === entry.expected?.value || findings.knows(entry.name)) continue
    findings.search(entry.name, { ...entry, name })
  }
  return led > 0
}

async function compareSearch(sides: Sides, collection: string, findings: Findings): Promise<void> {
  const [is, should] = [sides.indexed.searchItems(collection), sides.expected.searchItems(collection)]
  const wrong: WrongItem[] = []
  // First the walk over all terms, then the entries of each: an engine may allow only one walk at a time.
  for await (const pair of pairs(is, should, nameOf)) {
    if (pair.indexed?.value !== pair.expected?.value && wrong.length < knownMax) wrong.push(pair)
  }
  const others: WrongItem[] = []
  for (const item of wrong) if (!(await nameEntries(sides, collection, item, findings))) others.push(item)
  if (others.length === 0) return
  // An item that leads to no entry is a count, which also counts the entries that cannot be judged; or it says what is damaged.
  const excused = await excusedCounts(sides, collection, findings)
  for (const item of others) if (!isExcused(item, excused)) findings.search('', item)
}

const digestsOf = async (side: FrozenPart): Promise<ReadonlyMap<string, Digest>> =>
  new Map((await side.digests()).map((digest) => [digest.collection, digest]))

/** Compares a part of the index with the fold, at the same position. Lists at most `namedMax` differences. */
export async function compareParts(sides: Sides, namedMax: number): Promise<Comparison> {
  // In parallel. The expected side is asked first: another thread may compute it, while reading the other side blocks this one.
  const [should, is] = await Promise.all([digestsOf(sides.expected), digestsOf(sides.indexed)])
  const all = createFindings(sides, namedMax)
  let later: readonly Later[] = []
  let entries = 0
  const told = [...new Set([...is.keys(), ...should.keys()])].filter((name) =>
    sides.horizon.isTold(name, sides.part.day),
  )
  for (const collection of told) {
    const [a, b] = [is.get(collection), should.get(collection)]
    const findings = all.within(collection)
    entries += a?.entries ?? 0
    // Not as arguments: there may be more than a call can take.
    if (a?.content !== b?.content) later = later.concat(await compareEntries(sides, collection, findings))
    if ((a?.search ?? '') !== (b?.search ?? '')) await compareSearch(sides, collection, findings)
  }
  return { entries, different: all.count(), differences: all.differences, later }
}

/**
 * Judges the entries of a part that were left for later. The expected side is at their own position; for entries that are gone, it is where no
 * further event can have been folded into the part.
 */
export async function compareLater(sides: Sides, later: readonly Later[], namedMax: number): Promise<Comparison> {
  const all = createFindings(sides, namedMax)
  for (const { collection, id, hash, workspaceId } of later) {
    const should = await sides.expected.fingerprint(collection, id)
    const isReplaced = should === undefined || should.position > sides.indexed.position
    const isRight = hash === undefined ? isReplaced : hash === should?.hash
    if (!isRight && !(await sides.horizon.isUnsure(workspaceId, collection, id))) await all.within(collection).entry(id)
  }
  return { entries: 0, different: all.count(), differences: all.differences, later: [] }
}
