import { expect } from 'chai'
import { layOut, type Arrow } from '#src/app/map/graph-layout.ts'

/** `a>b b>c`. */
const arrowsOf = (text: string): readonly Arrow[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((each) => {
      const [from = '', to = ''] = each.split('>')
      return { from, to }
    })

function drawn(keys: string, text: string) {
  const layout = layOut(keys.split(''), arrowsOf(text))
  const columns = Array.from({ length: layout.columns }, (_, column) =>
    [...layout.places]
      .filter(([, place]) => place.column === column)
      .toSorted(([, a], [, b]) => a.row - b.row)
      .map(([key]) => key)
      .join(''),
  )
  const back = layout.ways.filter(({ leadsBack }) => leadsBack).map(({ arrow }) => `${arrow.from}>${arrow.to}`)
  return { ...layout, columns, back }
}

describe('the layout of a graph', () => {
  it('has each box behind all that lead to it', () => {
    expect(drawn('dcba', 'a>b b>c a>c c>d').columns).to.deep.equal(['a', 'b', 'c', 'd'])
    expect(drawn('', '').rows).to.equal(0)
  })

  it('has what is joined with nothing below, beside each other', () => {
    const { places, columns, rows } = drawn('xaybz', 'a>b')
    expect(columns).to.deep.equal(['ax', 'by', 'z'])
    expect([places.get('a')?.row, places.get('x')?.row, rows]).to.deep.equal([0, 1, 2])
    expect(drawn('abcdef', '')).to.deep.include({ columns: ['ae', 'bf', 'c', 'd'], rows: 2 })
    expect(drawn('a', '').columns).to.deep.equal(['a'])
  })

  it('leads an arrow over several columns through a place of its own in each', () => {
    const { ways, places, rows } = drawn('abcd', 'a>b b>c c>d a>d')
    const long = ways.find(({ arrow }) => arrow.from === 'a' && arrow.to === 'd')
    expect(long?.through.map(({ column }) => column)).to.deep.equal([0, 1, 2, 3])
    const taken = [...places.values()].map(({ column, row }) => `${column}/${row}`)
    for (const { column, row } of long?.through.slice(1, -1) ?? []) expect(taken).to.not.include(`${column}/${row}`)
    expect(rows).to.equal(2)
  })

  it('orders columns so that arrows need not cross', () => {
    expect(drawn('abxy', 'a>y b>x').columns).to.deep.equal(['ab', 'yx'])
    expect(drawn('abcxyz', 'a>z b>y c>x a>y').columns).to.deep.equal(['abc', 'zyx'])
  })

  it('opens a circle at what is called from outside of it, otherwise at the first, the same each time', () => {
    const circle = drawn('abcd', 'a>b b>c c>a d>b')
    expect(circle.columns).to.deep.equal(['d', 'b', 'c', 'a'])
    expect(circle.back).to.deep.equal(['a>b'])
    expect(drawn('abc', 'a>b b>c c>a').back).to.deep.equal(['c>a'])
    expect(drawn('bca', 'a>b b>c c>a').back).to.deep.equal(['a>b'])
    expect(drawn('ab', 'a>b b>a').columns).to.deep.equal(['a', 'b'])
  })

  it('has onward arrows lead on and no two boxes in one place, whatever the graph', () => {
    const keys = 'abcdefghijkl'
    let seed = 1
    const next = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let round = 0; round < 50; round++) {
      const pairs = Array.from({ length: next(30) }, () => [next(keys.length), next(keys.length)] as const)
      const text = pairs
        .filter(([from, to]) => from !== to)
        .map(([from, to]) => `${keys[from]}>${keys[to]}`)
        .join(' ')
      const { places, ways, rows } = drawn(keys, text)
      expect(new Set([...places.values()].map(({ column, row }) => `${column}/${row}`)).size, text).to.equal(
        keys.length,
      )
      for (const { row } of places.values()) expect(row, text).to.be.within(0, rows - 1)
      for (const { through, leadsBack } of ways) {
        const [first, last] = [through[0]?.column ?? 0, through.at(-1)?.column ?? 0]
        if (leadsBack) expect(first, text).to.be.above(last)
        else expect(through.map(({ column }) => column)).to.deep.equal(through.map((_, at) => first + at))
      }
    }
  })
})
