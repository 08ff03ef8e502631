import { expect } from 'chai'
import { createSignInThrottle } from '#src/app/account/sign-in-throttle.ts'
import { addressGroup } from '#src/lib/address-group.ts'
import { createTestClock } from '../directory/harness.ts'

describe('sign-in throttle', () => {
  it('takes all addresses of an IPv6 subscriber as one, and an IPv4 address however it is written', () => {
    const groups = ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:DB8:1:2::'].map(addressGroup)
    expect(new Set(groups)).to.deep.equal(new Set(['2001:db8:1:2']))
    expect(addressGroup('2001:db8:1:3::1')).to.equal('2001:db8:1:3')
    expect(addressGroup('2001:db8::2:3:4:5:6')).to.equal('2001:db8:0:2')
    expect(addressGroup('::1')).to.equal('0:0:0:0')
    expect(addressGroup('fe80::1%eth0')).to.equal('fe80:0:0:0')
    expect(addressGroup('::ffff:192.0.2.1')).to.equal('192.0.2.1')
    expect(addressGroup('192.0.2.1')).to.equal('192.0.2.1')
  })

  it('gives a token back after its time, up to the burst', () => {
    const clock = createTestClock()
    const throttle = createSignInThrottle({
      perAddress: 1_000,
      perNetwork: 1_000,
      perAccount: 6,
      ticks: clock,
      secret: 'x',
    })
    const attempt = { email: 'a@b.example', address: '192.0.2.1', isKnown: false }
    const taken = (): number => {
      let count = 0
      while (throttle.take(attempt) === 0) count++
      return count
    }
    expect(taken()).to.equal(6)
    expect(throttle.take(attempt)).to.equal(10)
    clock.advance(9_999)
    expect(throttle.take(attempt)).to.equal(1)
    clock.advance(1)
    expect(taken()).to.equal(1)
    clock.advance(3_600_000)
    expect(taken()).to.equal(6)
    clock.advance(5_000)
    throttle.succeeded(attempt)
    expect(taken(), 'what came back by its time comes back once').to.equal(1)
  })

  it('holds on to an account while a hundred thousand others are tried', () => {
    const clock = createTestClock()
    const throttle = createSignInThrottle({ perAddress: 5, perNetwork: 5, perAccount: 5, ticks: clock, secret: 'x' })
    const attempt = { email: 'a@b.example', address: '192.0.2.1', isKnown: false }
    while (throttle.take(attempt) === 0);
    for (let other = 0; other < 100_000; other++) {
      throttle.take({
        email: `x${other}@b.example`,
        address: `10.${other >> 16}.${(other >> 8) & 255}.${other & 255}`,
        isKnown: false,
      })
    }
    expect(throttle.take({ ...attempt, address: '203.0.113.250' })).to.be.greaterThan(0)
  })
})
