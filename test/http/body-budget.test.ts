import { expect } from 'chai'
import { createBodyBudget, type BodyBudget } from '#src/http/body.ts'
import { heapGrowth } from '#test/support/heap.ts'

describe('what bodies may hold', () => {
  it('is as much again for one that is alone, once it has given back what it held', () => {
    const one = createBodyBudget(100, 80).shareOf('one')
    for (let time = 0; time < 3; time++) {
      expect([one.take(80), one.take(1)], `time ${time}`).to.deep.equal([true, false])
      one.give(80)
    }
  })

  it('is at most half of all for one owner, and no more than all for all of them', () => {
    const all = createBodyBudget(100)
    const [one, another, third] = ['one', 'another', 'third'].map((owner) => all.shareOf(owner)) as [
      BodyBudget,
      BodyBudget,
      BodyBudget,
    ]
    expect([one.take(30), one.take(21), all.shareOf('one').take(20), all.shareOf('one').take(1)]).to.deep.equal([
      true,
      false,
      true,
      false,
    ])
    expect([another.take(40), third.take(11), third.take(10)]).to.deep.equal([true, false, true])
    expect([one.held(), another.held(), third.held(), all.held()]).to.deep.equal([50, 40, 10, 100])
    one.give(30)
    all.shareOf('one').give(20)
    // What was refused for want of room in all is none of the owner's share.
    expect([third.take(40), third.take(1), one.held(), all.held()]).to.deep.equal([true, false, 0, 90])
  })

  it('is of no owner any more who holds nothing: nothing stays in memory of them', () => {
    const all = createBodyBudget(100)
    const nameBytes = 10_000
    const grown = heapGrowth(() => {
      for (let n = 0; n < 2_000; n++) {
        const one = all.shareOf(Buffer.alloc(nameBytes, `owner ${n} `).toString('latin1'))
        expect(one.take(50)).to.equal(true)
        one.give(50)
      }
    })
    expect(grown).to.be.below(500 * nameBytes)
    expect([all.held(), all.shareOf('another').take(50)]).to.deep.equal([0, true])
  })

  it('is as much as the largest request, for one that is as good as alone, so that nobody is refused for ever', () => {
    const all = createBodyBudget(100, 200)
    const [small, large, more] = [all.shareOf('other'), all.shareOf('one'), all.shareOf('one')]
    expect([small.take(12), large.take(150), large.take(51), large.take(50)]).to.deep.equal([true, true, false, true])
    expect([small.take(1), more.take(1)], 'beside it').to.deep.equal([false, false])
    large.give(200)
    expect([small.take(1), more.take(60), more.take(50)], 'not beside more').to.deep.equal([true, false, true])
    small.give(13)
    more.give(50)
    expect(all.held()).to.equal(0)
  })
})
