import { parseJson, type JsonObject } from '#src/lib/json.ts'
import type { Answer } from './ask.ts'
import type { Question } from './questions.ts'

type Counted = Readonly<{
  logs: readonly unknown[]
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

/** Numbers of one answer that differ though they count the same records; undefined where there are none. */
export function contradictionIn({ path, parameters }: Question, answers: readonly Answer[]): string | undefined {
  const isAround = parameters.some(([name]) => name === 'around')
  if (path !== '/api/app/logs/search' || isAround || answers[0]?.plain.startsWith('200\n') !== true) return undefined
  const pages = answers.map(({ text }) => parseJson(text) as JsonObject)
  const numbers = numbersOf(pages as unknown as readonly Counted[])
  return new Set(numbers.values()).size > 1 ? JSON.stringify(Object.fromEntries(numbers)) : undefined
}
