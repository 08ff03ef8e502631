import { expect } from 'chai'
import { jsonInTurns, mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { turnsOf } from '#test/support/turns.ts'

function work(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe('work in turns', () => {
  const large = { logs: Array.from({ length: 16 }, (_, id) => ({ id, message: 'ü"\n'.repeat(400_000) })) }

  it('makes what map makes, in order', async () => {
    expect(await mapInTurns([1, 2, 3], (n) => 2 * n)).to.deep.equal([2, 4, 6])
    expect(await mapInTurns([], String)).to.deep.equal([])
  })

  it('lets others have their turn between items that take long, and is done at once with those that do not', async () => {
    expect(await turnsOf(() => mapInTurns(Array.from({ length: 10 }), () => work(6)))).to.be.at.least(9)
    expect(await turnsOf(() => mapInTurns([1, 2, 3], String))).to.equal(0)
  })

  it('writes the bytes of stringifyJson, whatever the value', async () => {
    const values: readonly object[] = [
      large,
      {},
      [],
      [[], {}, null, undefined, 'ä', 2n ** 70n],
      { a: undefined, b: { c: undefined, d: { e: { f: [1, { g: undefined, h: [undefined] }] } } }, '"\n': [[{}]] },
      { trace: { spans: [{ a: 1 }], missing: [] }, logs: { items: [], next_cursor: null }, none: null, n: -0.5 },
    ]
    for (const value of values) expect((await jsonInTurns(value)).toString()).to.equal(stringifyJson(value))
  })

  it('lets others have their turn between the large items of an answer', async () => {
    expect(await turnsOf(() => jsonInTurns(large))).to.be.at.least(2)
  })
})
