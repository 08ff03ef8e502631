import type { IndexReader } from './index-store.ts'

type Asks = readonly (() => Promise<unknown>)[]
type Answers<A extends Asks> = { -readonly [At in keyof A]: Awaited<ReturnType<A[At]>> }

/**
 * The answers to questions of which none needs another's, each as new as the one before it: how far an index is must be asked
 * before what it holds. Asked all at once where the reader keeps their order, and else one after the other. Of a question that
 * takes several steps only the first keeps its place.
 */
export async function askInOrder<const A extends Asks>(reader: IndexReader, asks: A): Promise<Answers<A>> {
  if (reader.answersInOrder === true) return (await Promise.all(asks.map((ask) => ask()))) as Answers<A>
  const answers: unknown[] = []
  for (const ask of asks) answers.push(await ask())
  return answers as Answers<A>
}
