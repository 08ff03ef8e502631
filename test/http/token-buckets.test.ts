import { expect } from 'chai'
import { createTokenBuckets } from '#src/http/token-buckets.ts'

describe('token buckets', () => {
  let now: number
  const start = () => createTokenBuckets({ policy: 'key', perSecond: 2, burst: 3, bucketsMax: 2, ticks: () => now })
  beforeEach(() => {
    now = 0
  })

  it('allow a burst, then so many a second, and say how long to wait', () => {
    const buckets = start()
    const allowed = Array.from({ length: 4 }, () => buckets.take('a').allowed)
    expect(allowed).to.deep.equal([true, true, true, false])
    expect(buckets.take('a').waitS).to.equal(1)
    now += 499
    expect(buckets.take('a').allowed).to.equal(false)
    now += 1
    expect(buckets.take('a')).to.deep.include({ allowed: true, remaining: 0 })
    expect(buckets.take('a').allowed, 'of the same time once more').to.equal(false)
  })

  it('let nobody wait who may take another at once', () => {
    const buckets = start()
    const waits = Array.from({ length: 3 }, () => buckets.take('a').waitS)
    expect(waits).to.deep.equal([0, 0, 1])
  })

  it('tell of whole ones: with half a one nobody may send', () => {
    const buckets = start()
    for (let taken = 0; taken < 3; taken++) buckets.take('a')
    now += 750
    expect(buckets.take('a')).to.deep.include({ allowed: true, remaining: 0, waitS: 1 })
    expect(buckets.take('a').allowed).to.equal(false)
  })

  it('hold no more than the burst, however long nobody takes of them', () => {
    const buckets = start()
    buckets.take('a')
    now += 3_600_000
    expect(buckets.take('a').remaining).to.equal(2)
  })

  it('are apart by name', () => {
    const buckets = start()
    for (let taken = 0; taken < 4; taken++) buckets.take('a')
    expect(buckets.take('b')).to.deep.include({ allowed: true, remaining: 2 })
  })

  it('are only so many: the one that nobody took of for longest is forgotten', () => {
    const buckets = start()
    for (const name of ['a', 'b', 'a', 'c']) buckets.take(name)
    expect(buckets.take('a').remaining).to.equal(0)
    expect(buckets.take('b').remaining).to.equal(2)
  })
})
