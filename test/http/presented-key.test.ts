import { expect } from 'chai'
import type { Context } from 'koa'
import { presentedKeys } from '#src/http/presented-key.ts'

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

describe('the keys of a request', () => {
  const keysOf = (headers: Readonly<Record<string, string>>, querystring = '', fromQuery = true): readonly string[] =>
    presentedKeys({ get: (name: string) => headers[name] ?? '', querystring } as Context, { fromQuery })

  for (const [authorization, key] of [
    ['Bearer tt_a', 'tt_a'],
    ['bearer  tt_a ', 'tt_a'],
    ['tt_a', 'tt_a'],
    ['Bearer%20tt_a', 'tt_a'],
    ['Bearer 100%', '100%'],
    [basic('user:lt_a'), 'lt_a'],
    [basic('user:lt:a\n'), 'lt:a'],
    [basic('lt_a:'), 'lt_a'],
    [basic('lt_a'), 'lt_a'],
  ] as const) {
    it(`is ${key} of ${authorization}`, () => expect(keysOf({ Authorization: authorization })).to.deep.equal([key]))
  }

  it('are all that it presents, in the query where one may stand there', () => {
    const headers = { Authorization: 'Bearer a', 'X-Api-Key': ' b%20' }
    expect(keysOf(headers, 'x=1&key=%20c')).to.deep.equal(['a', 'b', 'c'])
    expect(keysOf(headers, 'key=c', false)).to.deep.equal(['a', 'b'])
  })

  it('are none that nobody has: nothing, and more than a key is', () => {
    for (const scheme of ['Bearer ', 'Bearer', 'basic']) {
      expect(keysOf({ Authorization: scheme, 'X-Api-Key': 'x'.repeat(513) }, 'key='), scheme).to.deep.equal([])
    }
    expect(keysOf({ 'X-Api-Key': 'x'.repeat(512) })).to.have.length(1)
  })
})
