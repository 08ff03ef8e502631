import { expect } from 'chai'
import { describe, it } from 'mocha'
import { parseHttpAddresses } from '#src/lib/http-addresses.ts'

const read = (text: string): readonly string[] => parseHttpAddresses(text).map(({ href }) => href)

describe('addresses of several nodes', () => {
  it('have the user and password that one of them names', () => {
    expect(read('http://a:1, http://u:p%40x@b:1,http://c:1/way')).to.deep.equal([
      'http://u:p%40x@a:1/',
      'http://u:p%40x@b:1/',
      'http://u:p%40x@c:1/way',
    ])
    expect(read('https://a')).to.deep.equal(['https://a/'])
  })

  it('are told from a comma in a password', () => {
    expect(read('http://u:p,q@a:1')).to.deep.equal(['http://u:p,q@a:1/'])
    expect(read('http://u:p,q@a:1,http://b:1')).to.deep.equal(['http://u:p,q@a:1/', 'http://u:p,q@b:1/'])
  })

  it('are refused where one is none', () => {
    for (const text of ['', 'a:1', 'http://', 'http://a,', 'http://a,b', 'ftp://a', 'http://a,ftp://b', 'http://a b']) {
      expect(() => read(text), text).to.throw(/^is http\(s\):\/\/user:password@host:port, or several with commas$/)
    }
  })
})
