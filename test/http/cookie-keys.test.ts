import { expect } from 'chai'
import { createCookieKeys } from '#src/http/cookie-keys.ts'

const text = 'throughline=abcdefghijklmnopqrstuvwxyz.12'
// openssl dgst -sha1 -hmac one -binary | basenc --base64url, of the text
const byOne = 'ajsPXYpcDQsXsCW_FGlTetnPCu8'
const byTwo = 'xoxD3gu5_F8tfOGMqSMqLBdqFJA'

describe('keys of cookies', () => {
  const keys = createCookieKeys(['one', 'two'])

  it('sign by the first, as Koa does by itself', () => {
    expect(keys.sign(text)).equal(byOne)
    expect(keys.sign(text), 'the second time').equal(byOne)
    expect(createCookieKeys(['two']).sign(text)).equal(byTwo)
  })

  it('know what any of them has signed, also the second time', () => {
    for (const time of ['first', 'second']) {
      expect(keys.index(text, byOne), time).equal(0)
      expect(keys.index(text, byTwo), time).equal(1)
      expect(keys.verify(text, byOne), time).equal(true)
      expect(keys.verify(text, byTwo), time).equal(true)
    }
  })

  it('know nothing else', () => {
    const wrong = [
      '',
      byOne.slice(1),
      `${byOne}=`,
      byOne.toLowerCase(),
      'é'.repeat(byOne.length),
      byOne.replace(/.$/, 'A'),
    ]
    for (const given of wrong) {
      expect(keys.index(text, given), given).equal(-1)
      expect(keys.verify(text, given), given).equal(false)
    }
    expect(keys.index(`${text}3`, byOne)).equal(-1)
    expect(createCookieKeys(['three']).index(text, byOne)).equal(-1)
  })

  it('are right about more cookies than they keep', () => {
    const signed = Array.from({ length: 5_000 }, (_, each) => [`a=${each}`, keys.sign(`a=${each}`)] as const)
    for (const [each, signature] of signed) expect(keys.index(each, signature)).equal(0)
    expect(new Set(signed.map(([, signature]) => signature)).size).equal(5_000)
  })
})
