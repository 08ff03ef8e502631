import { expect } from 'chai'
import type { IndexReader } from '#projections/index-store.ts'
import { answersDuring } from '#test/support/answers-during.ts'
import { everything, scopeOf } from '#test/support/index-fixture.ts'

/** Who reads while readers are moved finds what one build holds, then what the other holds: never both, never nothing. */
export async function expectOneStep(
  reader: IndexReader,
  move: () => Promise<unknown>,
  { from, to }: Readonly<{ from: string; to: string }>,
): Promise<void> {
  const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 10 } as const
  const ask = async (): Promise<string> => (await reader.search(scopeOf('lines'), query)).map(({ id }) => id).join()
  const answers = await answersDuring(ask, move)
  const moved = answers.indexOf(to)
  expect(moved, answers.join('; ')).to.be.above(0)
  expect(answers).to.deep.equal(answers.map((_, at) => (at < moved ? from : to)))
}
