import { LargeAnswerError, type Call } from './client.ts'

const bytesMax = 16 * 1024 * 1024
/**
 * The first part is small, and each next one four times as large: Elasticsearch counts no bytes of a look-up, and ends for want of memory where its documents
 * are large and many.
 */
const first = 32
const growth = 4
const growthAfterLarge = 1.25

/** The bound of an answer of so many documents; one alone is taken as large as it is. */
export const bytesBound = (count: number): Pick<Call, 'bytesMax'> => (count === 1 ? {} : { bytesMax })

/**
 * Asks for items part by part, in their order. A part is smaller where the answer would have too many bytes, which is known only when they come, or when
 * Elasticsearch cannot gather them. The parts then grow again.
 */
export async function* inSizedParts<T, R>(
  items: readonly T[],
  most: number,
  ask: (some: readonly T[]) => Promise<R>,
): AsyncGenerator<R> {
  let size = Math.min(first, most)
  let growing = growth
  for (let start = 0; start < items.length;) {
    const some = items.slice(start, start + size)
    try {
      yield await ask(some)
      start += some.length
      size = Math.min(most, Math.ceil(size * growing))
    } catch (error) {
      if (!(error instanceof LargeAnswerError)) throw error
      size = Math.ceil(some.length / 4)
      growing = growthAfterLarge
    }
  }
}
