import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { beginningOf } from '#src/lib/beginning.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    for (let index = 0; index < 100; index++) {
      kept.push(beginningOf(Buffer.alloc(textBytes, `text ${index} `).toString('latin1'), 500))
    }
    collectGarbage()
    expect(process.memoryUsage().heapUsed - before).to.be.below(10 * textBytes)
    expect(kept).to.have.length(100)
  })
})
