import { LargeAnswerError, type Call } from './call.ts'

export type Bound = Pick<Call, 'bytesMax'>

const bytesMax = 16 * 1024 * 1024
/**
 * The first part is small, and each next one four times as large: Elasticsearch counts no bytes of a look-up, and ends for want of memory where its documents
 * are large and many.
 */
const first = 32
const growth = 4
/** What was too large together once may be so again. */
const growthAfterLarge = 1.25

/**
 * Asks for so many documents. If they are too large together, it asks for a quarter of them, and again: that is known only when they come, or when
 * Elasticsearch cannot gather them. A single document may be of any size. `size` of the result: how many were asked for in the end.
 */
export async function askFitting<R>(
  size: number,
  ask: (size: number, bound: Bound) => Promise<R>,
): Promise<Readonly<{ answer: R; size: number }>> {
  try {
    return { answer: await ask(size, size === 1 ? {} : { bytesMax }), size }
  } catch (error) {
    if (!(error instanceof LargeAnswerError)) throw error
    return askFitting(Math.ceil(size / 4), ask)
  }
}

/** How many to ask for, part by part, at most `most`: they grow, and grow again after a smaller one. */
export function createPartSizes(most: number) {
  let wanted = Math.min(first, most)
  let growing = growth
  return {
    wanted: (): number => wanted,
    /** So many were asked for, and `size` in the end. */
    asked(count: number, size: number): void {
      if (size < count) growing = growthAfterLarge
      wanted = Math.min(most, Math.ceil(size * growing))
    },
  }
}

/** Asks for items part by part, in their order. */
export async function* inSizedParts<T, R>(
  items: readonly T[],
  most: number,
  ask: (some: readonly T[], bound: Bound) => Promise<R>,
): AsyncGenerator<R> {
  const sizes = createPartSizes(most)
  for (let start = 0; start < items.length;) {
    const rest = items.slice(start, start + sizes.wanted())
    const { answer, size } = await askFitting(rest.length, (count, bound) => ask(rest.slice(0, count), bound))
    yield answer
    start += size
    sizes.asked(rest.length, size)
  }
}
