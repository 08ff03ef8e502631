import { expect } from 'chai'
import { formatQuotedList, parseQuotedList } from '#src/lib/quoted-list.ts'

describe('a list with quotes', () => {
  it('has the items that it was made of', () => {
    const items = ['a', 'b,c', 'say "yes"', String.raw`back\slash`, '"', ',', ' blank ']
    expect(parseQuotedList(formatQuotedList(items))).to.deep.equal(items)
    expect(formatQuotedList(['a', 'b,c'])).to.equal('a,"b,c"')
  })

  it('has no empty items, and quotes as they are where they do not enclose one', () => {
    expect(parseQuotedList(',a,,"",b,')).to.deep.equal(['a', 'b'])
    expect(parseQuotedList('"a"b,c"d,"e')).to.deep.equal(['"a"b', 'c"d', '"e'])
  })
})
