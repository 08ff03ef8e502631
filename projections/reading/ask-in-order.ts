import type { IndexReader } from '../index-store.ts'

type Asks = readonly (() => Promise<unknown>)[]
type Answers<A extends Asks> = { -readonly [At in keyof A]: Awaited<ReturnType<A[At]>> }

/**
 * Asks independent questions, so that each answer is at least as new as the one before: the progress of an index must be asked before its
 * content. They are asked all at once if the reader keeps their order, otherwise one by one. Of a question with several steps, only the first
 * step keeps its place.
 */
export async function askInOrder<const A extends Asks>(reader: IndexReader, asks: A): Promise<Answers<A>> {
  if (reader.answersInOrder === true) return (await Promise.all(asks.map((ask) => ask()))) as Answers<A>
  const answers: unknown[] = []
  for (const ask of asks) answers.push(await ask())
  return answers as Answers<A>
}
