import type { IndexReader } from '#projections/index-store.ts'

export type Call = 'search' | 'count' | 'progress'

/** What stands before the store: it can hold calls back, make them fail and find nothing, and counts them. */
export function watched(reader: IndexReader) {
  const calls = { search: 0, count: 0, progress: 0 }
  let before: (call: Call, isLaterPage: boolean) => Promise<'nothing' | void> = async () => {}
  const wrapped: IndexReader = {
    ...reader,
    search: async (scope, query) => {
      calls.search++
      const found = await before('search', query.after !== undefined)
      return found === 'nothing' ? [] : reader.search(scope, query)
    },
    count: async (...args) => {
      calls.count++
      const found = await before('count', false)
      return found === 'nothing' ? 0 : reader.count(...args)
    },
    progress: async (...args) => {
      calls.progress++
      await before('progress', false)
      return reader.progress(...args)
    },
  }
  const clear = (): void => {
    before = async () => {}
    for (const name of ['search', 'count', 'progress'] as const) calls[name] = 0
  }
  return { reader: wrapped, calls, clear, on: (hook: typeof before) => (before = hook) }
}
