import { expect } from 'chai'
import { emptyDeepValues } from '#src/lib/empty-deep-values.ts'

const emptied = (text: string, depthMax: number): string =>
  Buffer.from(emptyDeepValues(Buffer.from(text), depthMax)).toString()

describe('emptyDeepValues', () => {
  const text = String.raw`{"a":[1,{"b]":"}\"]","c":[[],{}]},"[",null], "d":{"é{":2} ,"e":3}`

  it('empties the lists and objects of one level, and keeps the length', () => {
    const rows: readonly (readonly [depthMax: number, expected: unknown])[] = [
      [1, {}],
      [2, { a: [], d: {}, e: 3 }],
      [3, { a: [1, {}, '[', null], d: { 'é{': 2 }, e: 3 }],
      [4, { a: [1, { 'b]': '}"]', c: [] }, '[', null], d: { 'é{': 2 }, e: 3 }],
      [5, JSON.parse(text)],
    ]
    for (const [depthMax, expected] of rows) {
      expect(JSON.parse(emptied(text, depthMax)), `level ${depthMax}`).to.deep.equal(expected)
      expect(Buffer.byteLength(emptied(text, depthMax))).to.equal(Buffer.byteLength(text))
    }
    expect(emptied(text, 5)).to.equal(text)
  })

  it('leaves the bytes that it is given alone', () => {
    const bytes = Buffer.from(text)
    emptyDeepValues(bytes, 1)
    expect(bytes.toString()).to.equal(text)
  })
})
