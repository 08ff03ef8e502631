import { expect } from 'chai'
import { nearest } from '#src/lib/nearest.ts'

describe('the nearest of names', () => {
  it('is the one that takes the fewest edits, of which a swap is one', () => {
    for (const [typed, known, meant] of [
      ['eror', ['warn', 'error'], 'error'],
      ['wran', ['error', 'warn'], 'warn'],
      ['wbe', ['orders', 'web'], 'web'],
      ['err.typ', ['err.type', 'err.text'], 'err.type'],
      ['CHECKOT', ['checkout'], 'checkout'],
    ] as const) {
      expect(nearest(typed, known), typed).to.equal(meant)
    }
  })

  it('is none of which less than half was typed', () => {
    for (const [typed, known] of [
      ['foo', ['os']],
      ['x', ['os', 'y']],
      ['url', ['uid']],
      ['', ['os']],
    ] as const) {
      expect(nearest(typed, known), typed).to.equal(undefined)
    }
  })
})
