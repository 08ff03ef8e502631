import { parseJson } from '#src/lib/json.ts'
import type { Answer } from './ask.ts'
import type { Question } from './questions.ts'

type Counted = Readonly<{
  logs: readonly Readonly<{ id: string; timestamp: string }>[]
  next_cursor: string | null
  count?: number
  histogram?: Readonly<{
    buckets: readonly Readonly<{ total: number; by_level: Readonly<Record<string, number>> }>[]
  }>
  facets?: readonly Readonly<{ field: string; values: readonly Readonly<{ count: number }>[] }>[]
}>

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** What the pages of a log search say of how many records there are, each by its name; all are to be one number. */
function numbersOf(pages: readonly Counted[]): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>()
  const [first] = pages
  if (pages.at(-1)?.next_cursor === null) numbers.set('listed', sum(pages.map(({ logs }) => logs.length)))
  if (first?.count !== undefined) numbers.set('count', first.count)
  if (first?.histogram !== undefined) numbers.set('histogram', sum(first.histogram.buckets.map(({ total }) => total)))
  const source = first?.facets?.find(({ field }) => field === 'source')
  if (source !== undefined) numbers.set('by source', sum(source.values.map(({ count }) => count)))
  return numbers
}

type Trace = Readonly<{
  trace_id: string
  start: string | null
  duration_ns: string | null
  span_count: number
  error_count: number
}>
type Listed = Readonly<{
  traces: readonly Trace[]
  next_cursor: string | null
  histogram?: Readonly<{ of: string; buckets: readonly Readonly<{ total: number }>[] }> | null
  range: Readonly<{ from: string | null }>
}>

const isSorted = <T>(values: readonly T[], mayFollow: (before: T, after: T) => boolean): boolean =>
  values.every((value, at) => at === 0 || mayFollow(values[at - 1] as T, value))

/** What a list of traces is ordered by, the greatest first. */
const greatestFirst: Readonly<Record<string, (trace: Trace) => bigint | number>> = {
  longest: ({ duration_ns: duration }) => BigInt(duration ?? 0),
  most_spans: ({ span_count: spans }) => spans,
  errors: ({ error_count: errors }) => errors,
}

/** What is wrong with a walk through traces by itself: one that comes twice, an order that does not hold, another count than its own. */
function wrongOfTraces(order: string, pages: readonly Listed[]): string | undefined {
  const traces = pages.flatMap((page) => page.traces)
  if (new Set(traces.map(({ trace_id: id }) => id)).size < traces.length) return 'a trace comes twice'
  const value = greatestFirst[order]
  if (value !== undefined && !isSorted(traces.map(value), (before, after) => before >= after))
    return `not in the order ${order}`
  const [first] = pages
  if (pages.at(-1)?.next_cursor !== null || first?.histogram?.of !== 'traces') return undefined
  // Each is counted at its start, and listed wherever one of its spans is.
  const begun = traces.filter(({ start }) => (start ?? '') >= (first.range.from ?? '')).length
  const counted = sum(first.histogram.buckets.map(({ total }) => total))
  return counted === begun ? undefined : `${begun} traces begin in the range, and ${counted} are in the histogram`
}

function wrongOfLogs(order: string, pages: readonly Counted[]): string | undefined {
  const logs = pages.flatMap((page) => page.logs)
  if (new Set(logs.map(({ id }) => id)).size < logs.length) return 'a log comes twice'
  const times = logs.map(({ timestamp }) => timestamp)
  if (!isSorted(times, (before, after) => (order === 'asc' ? before <= after : before >= after)))
    return 'not in the order of times'
  const numbers = numbersOf(pages)
  return new Set(numbers.values()).size > 1 ? JSON.stringify(Object.fromEntries(numbers)) : undefined
}

/** What the pages of one search say that cannot all be so; undefined where there is nothing. */
export function contradictionIn({ path, parameters }: Question, answers: readonly Answer[]): string | undefined {
  const asked = new Map(parameters)
  if (asked.has('around') || answers[0]?.plain.startsWith('200\n') !== true) return undefined
  const pages = <Page>(): readonly Page[] => answers.map(({ text }) => parseJson(text) as Page)
  if (path === '/api/app/logs/search') return wrongOfLogs(asked.get('order') ?? 'desc', pages<Counted>())
  if (path === '/api/app/traces/search') return wrongOfTraces(asked.get('order') ?? 'newest', pages<Listed>())
  return undefined
}
