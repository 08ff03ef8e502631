import { expect } from 'chai'
import { fromGrafana } from '#src/app/search/meant/grafana-words.ts'
import { otherNames } from '#src/app/search/meant/other-names.ts'
import { regexesIn } from '#src/app/search/meant/passed-over.ts'
import { plainClauses } from '#src/app/search/meant/plain-clauses.ts'

describe('app/search/passed-over', () => {
  // Each looked behind for its end, they would take minutes, in which the process answers nobody.
  it('reads quotation marks that nothing closes, in time that grows with their number', () => {
    const normalized = `service:web AND a*${'\\"'.repeat(200_000)}`
    const [clause, ...others] = plainClauses(normalized, ['service'])
    expect([clause?.value, others]).to.deep.equal(['web', []])
    expect(regexesIn(normalized)).to.equal('')
    expect(otherNames({ path: '/app/traces', conditions: new URLSearchParams(), normalized })).to.equal(undefined)
  })

  it('reads classes of characters that nothing closes in such a time', () => {
    expect(plainClauses(`service:web${' /[a'.repeat(100_000)}`, ['service']).map(({ value }) => value)).to.deep.equal([
      'web',
    ])
    expect(regexesIn('a AND /[b /"c]+d/ AND "e /f/"')).to.equal('/[b /"c]+d/')
  })

  it('takes what stands behind a quotation mark that nothing closes for a text', () => {
    expect(fromGrafana('.a = 1 && "b .c = 2')).to.equal('a=1 && "b .c = 2')
    expect(fromGrafana('a="b" && "c .d = 2')).to.equal(undefined)
  })
})
