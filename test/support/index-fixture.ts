import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { words, valueTokens, sentinel, numberToken } from '#src/events/tokens.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import type { Filter, IndexReader, IndexWriter, Scope } from '#projections/index-store.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { recordId, type Collection, type Entry, type Projection } from '#projections/projection.ts'
import { promote } from '#test/support/promote.ts'
import type { Random } from '#test/support/random.ts'

export type OpenIndexStore = Readonly<{ writer: IndexWriter; reader: IndexReader }>

/** A made-up projection that has a field of every kind, for tests of stores. */
export type Line = Readonly<{
  timeNs: bigint
  level: string | null
  service: readonly string[]
  size: number
  text: string
}>
export type Thing = Readonly<{ timeNs: bigint; weight: number | bigint | null; tags: readonly string[]; note: string }>

export const lines: Collection<Line> = {
  name: 'lines',
  kind: 'record',
  lookbackDays: 1,
  fields: { level: 'keyword', service: 'keyword', size: 'number', message: 'tokens', fields: 'tokens' },
  countedBy: ['level', 'service'],
  countedTogether: true,
  searchable: ({ timeNs, level, service, size, text }) => ({
    timeNs: timeNs,
    fields: {
      level: level ?? undefined,
      service,
      size,
      message: words(text).join(' '),
      fields: [...valueTokens('text', text), sentinel, numberToken('size', size)].join(' '),
    },
  }),
}

export const things: Collection<Thing> = {
  name: 'things',
  kind: 'document',
  lookbackDays: 2,
  fields: { weight: 'number', tags: 'keyword', note: 'tokens', words: 'id' },
  countedBy: ['tags'],
  countedWhere: { field: 'weight', from: 1 },
  searchable: ({ timeNs, weight, tags, note }) => ({
    timeNs: timeNs,
    fields: { weight: weight ?? undefined, tags, note: words(note).join(' '), words: words(note) },
  }),
}

/** No searchable field at all: only found by id. */
export const sets: Collection<Readonly<{ value: string }>> = {
  name: 'sets',
  kind: 'document',
  lookbackDays: 0,
  fields: {},
  searchable: () => ({ timeNs: 0n, fields: {} }),
}

export const fixture: Projection = {
  name: 'fixture',
  version: 1,
  handles: ['logs.received'],
  collections: { lines, things, sets },
  needs: () => [],
  fold: () => undefined,
}

export const index = 'fixture-v1-001'
export const epoch = 'epoch-1'
export const acme: WorkspaceId = workspaceIdOf('acme')
export const other: WorkspaceId = workspaceIdOf('other')
export const day = '2026-11-21'
export const noonNs = BigInt(Date.parse('2026-11-21T12:00:00Z')) * 1_000_000n

/** Opens the fixture's build, and readers move to it. */
export async function openFixture(writer: IndexWriter): Promise<void> {
  await writer.open(index, fixture, epoch)
  await promote(writer, 'fixture', index)
}

/** A memory store with the fixture's build, to compare another with. */
export async function openOracle(): Promise<MemoryIndexStore> {
  const oracle = createMemoryIndexStore()
  await openFixture(oracle.writer)
  return oracle
}

export const scopeOf = (collection: string, workspaceId: WorkspaceId = acme): Scope => ({
  workspaceId,
  projection: 'fixture',
  collection,
})

export function lineEntry(line: Partial<Line>, position: number, more: Partial<Entry> = {}): Entry<Line> {
  const document: Line = { timeNs: noonNs, level: null, service: [], size: 0, text: '', ...line }
  const identity = createHash('sha1').update(`${position}`).digest('hex').slice(0, 8)
  return { collection: 'lines', id: recordId(document.timeNs, identity, 0), day, position, ...more, document }
}

export function thingEntry(
  id: string,
  thing: Partial<Thing>,
  position: number,
  more: Partial<Entry> = {},
): Entry<Thing> {
  const document: Thing = { timeNs: noonNs, weight: 0, tags: [], note: '', ...thing }
  return { collection: 'things', id, day, position, created: position, ...more, document }
}

export async function write(
  writer: IndexWriter,
  entries: readonly Entry[],
  position: number,
  workspaceId = acme,
): Promise<void> {
  await writer.write(index, [{ workspaceId, entries }], { epoch, position })
}

export const everything: Filter = { kind: 'all' }

/** All hits of an order, page by page. Where they stand is the same when it is asked for alone. */
export async function walk(
  reader: IndexReader,
  collection: string,
  query: Readonly<{ orderBy: string; direction: 'asc' | 'desc'; limit: number; filter?: Filter }>,
  between: () => Promise<void> = async () => {},
) {
  const hits = []
  for (let after: { value: bigint; id: string } | undefined; ;) {
    const asked = { filter: everything, ...query, ...(after === undefined ? {} : { after }) }
    const page = await reader.search(scopeOf(collection), asked)
    const places = await reader.places(scopeOf(collection), asked)
    assert.deepEqual(
      places,
      page.map(({ sort }) => sort),
      'where the hits stand',
    )
    hits.push(...page)
    after = page.at(-1)?.sort
    if (page.length < query.limit) return hits
    if (hits.length > 10_000) throw new Error('the walk does not end')
    await between()
  }
}

/** Ids that a filter meets, oldest first. */
export async function idsOf(reader: IndexReader, collection: string, filter: Filter): Promise<readonly string[]> {
  const hits = await walk(reader, collection, { orderBy: 'timeNs', direction: 'asc', limit: 1_000, filter })
  return hits.map(({ id }) => id)
}

const texts = [
  'connection_timeout_ms=500 exceeded',
  'GET /api/v1/orders?id=7 500',
  'java.lang.NullPointerException at com.acme.Foo',
  'peer 10.0.0.7:5432 refused',
  'order 9f1c2d3e-0000-4000-8000-aabbccddeeff paid',
  'Zahlung für Müller fehlgeschlagen',
  '支付失败 order=12',
  'said "quoted: AND" (OR) NOT * NEAR/2 ^x -y +z {a} [b] a:b',
  `it's 'single' ; DROP TABLE -- \\ \u0000 \u0001 \u007f end`,
  'ΣΊΣΥΦΟΣ İstanbul straße ☃ \ud83d\ude00 emoji',
  'user logged in',
  'lone \ud800 surrogate',
  '',
  '"',
]
const services = ['checkout', 'Cart Service', 'a"b', 'x:y', '支付', '', 'null', '__proto__', 'tab\there']
const levels = ['info', 'warn', 'error', null]

const oddTimes = [
  0n,
  1n,
  -1n,
  -62_135_596_800_000_000_000n / 7n,
  (1n << 63n) - 1n,
  -(1n << 63n),
  9_000_000_000_000_000_000n,
]

function randomTime(random: Random): bigint {
  if (random.chance(0.08)) return random.pick(oddTimes)
  if (random.chance(0.3)) return noonNs + BigInt(random.below(4))
  return noonNs + BigInt(random.below(600_000) - 300_000) * 1_000_000n + BigInt(random.below(3))
}

export function randomLine(random: Random): Line {
  return {
    timeNs: randomTime(random),
    level: random.pick(levels),
    service: Array.from({ length: random.below(3) }, () => random.pick(services)),
    size: random.pick([0, 1, -5, 404, 500, 501, 1e15, -1e9, random.below(1_000)]),
    text: `${random.pick(texts)} ${random.chance(0.5) ? random.pick(texts) : ''}`,
  }
}

/** Bounds that are each there or not. */
function maybe<T>(random: Random, bound: () => T): Readonly<{ from?: T; to?: T }> {
  return { ...(random.chance(0.7) ? { from: bound() } : {}), ...(random.chance(0.7) ? { to: bound() } : {}) }
}

function randomTokens(random: Random): readonly string[] {
  if (random.chance(0.4)) return valueTokens('text', random.pick(texts)).slice(0, 1)
  const found = words(random.pick(texts))
  const start = random.below(Math.max(1, found.length))
  return found.slice(start, start + 1 + random.below(3))
}

const leaves: readonly ((random: Random, fields: readonly string[]) => Filter)[] = [
  (random) => ({ kind: 'keyword', field: 'level', values: [random.pick(['info', 'WARN', 'error'])] }),
  (random) => {
    const values = [random.pick(services), random.pick(services).toUpperCase()]
    return { kind: 'keyword', field: 'service', values }
  },
  (random) => ({ kind: 'keywordPrefix', field: 'service', prefix: random.pick(services).slice(0, random.below(4)) }),
  (random) => {
    const bounds = maybe(random, () => random.pick([0, -5, 404, 403.5, 1n, 500.5, -1, 1n << 62n]))
    return { kind: 'number', field: 'size', ...bounds }
  },
  (random, fields) => {
    const prefix = random.pick(['', 'o', 'null', 'text=', 'size#'])
    const regex = random.pick(['.*', 'o.*r.*', 'null[a-z]+', 'text=.*o.*', 'size#.*0', '[0-9]+'])
    return { kind: 'pattern', fields, prefix, regex }
  },
  (random) => {
    const bounds = maybe(random, () => numberToken('size', random.pick([0, -5, 404, 500, 1e12, -1e9])))
    return { kind: 'tokenRange', fields: ['fields'], prefix: 'size#', ...bounds }
  },
  (random, fields) => {
    const tokens = randomTokens(random)
    const last = (tokens.at(-1) ?? 'x').slice(0, 1 + random.below(4))
    return { kind: 'phrase', fields, tokens: [...tokens.slice(0, -1), last], prefix: true }
  },
  (random, fields) => ({ kind: 'phrase', fields, tokens: randomTokens(random) }),
]

function randomLeaf(random: Random): Filter {
  const fields = random.pick([['message'], ['fields'], ['message', 'fields'], ['nowhere']])
  return random.pick([...leaves, ...leaves.slice(-1)])(random, fields)
}

export function randomFilter(random: Random, depth = 3): Filter {
  if (depth === 0 || random.chance(0.35))
    return random.chance(0.04) ? random.pick([{ kind: 'all' }, { kind: 'none' }] as const) : randomLeaf(random)
  if (random.chance(0.25)) return { kind: 'not', of: randomFilter(random, depth - 1) }
  const of = Array.from({ length: 1 + random.below(3) }, () => randomFilter(random, depth - 1))
  return { kind: random.chance(0.5) ? 'and' : 'or', of }
}
