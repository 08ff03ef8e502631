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
  // Names of fields are as long and as many as their senders like, and pages of logs ask for the nearest: comparing them all took ten seconds.
  it('is none that is so much longer that it cannot be near, which is not read', () => {
    const unread = {
      length: 100,
      toLowerCase: () => expect.fail('it was read'),
    } as unknown as string
    expect(nearest('customer.identifier', [unread, 'customer.identifyer'])).to.equal('customer.identifyer')
  })
})
