import { expect } from 'chai'
import { beginningOf } from '#src/lib/beginning.ts'
import { heapGrowth } from '#test/support/heap.ts'

describe('lib/beginning', () => {
  it('is the text, or as many of its characters as there may be, half a surrogate pair among them', () => {
    expect(beginningOf('', 3)).to.equal('')
    expect(beginningOf('abc', 3)).to.equal('abc')
    expect(beginningOf('añ支😀', 4)).to.equal('añ支\ud83d')
    expect(beginningOf('\udc00😀😀', 3)).to.equal('\udc00😀')
  })

  it('keeps nothing of the rest in memory', () => {
    const textBytes = 1_000_000
    const kept: string[] = []
    const grown = heapGrowth(() => {
      for (let index = 0; index < 100; index++) {
        kept.push(beginningOf(Buffer.alloc(textBytes, `text ${index} `).toString('latin1'), 500))
      }
    })
    expect(grown).to.be.below(10 * textBytes)
    expect(kept).to.have.length(100)
  })
})
