import { expect } from 'chai'
import { fieldTable } from '#src/app/search/field-table.ts'

describe('a table of fields', () => {
  const shown = (fields: Readonly<Record<string, unknown>>): string =>
    fieldTable('Fields', fields).markup.replaceAll('&quot;', '"')

  it('shows a stack trace to its last line, which says the cause, and other long values in part', () => {
    const frames = Array.from({ length: 200 }, (_, n) => `    at com.acme.pricing.Rule.step${n}(Rule.java:${n})`)
    const stack = ['Error: no', ...frames, 'Caused by: java.io.IOException: stream closed'].join('\n')
    const text = shown({ stack, flat: 'x'.repeat(9_000), endless: `${stack}\n`.repeat(9) })
    expect(text).to.include(`<pre>${stack}</pre>`).and.include('x … (7,000 more characters)')
    expect(text).to.match(/ more characters\)<\/pre>/)
  })

  it('ends where a record is longer than a page shows, and says how many fields are left out', () => {
    const fields = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`field-${n}`, 'x'.repeat(1_900)]))
    const text = shown(fields)
    const names = text.match(/<th>field-\d+<\/th>/g) ?? []
    expect(names.length).to.be.within(1, 199)
    expect(text).to.include(
      `<th>…</th><td>${200 - names.length} more fields: the search API and the export have them all.</td>`,
    )
  })

  it('shows a list of objects item by item, as the frames of a browser’s error are', () => {
    const frames = ['renderTotal', 'update'].map((name, n) => ({ function: name, lineno: BigInt(n + 7) }))
    const lines = '{"function":"renderTotal","lineno":7}\n{"function":"update","lineno":8}'
    expect(shown({ stacktrace: { frames } })).to.include(`<th>stacktrace.frames</th><td><pre>${lines}</pre></td>`)
    expect(shown({ one: [{ a: 1n }] })).to.include('<td>[{"a":1}]</td>')
    expect(shown({ mixed: [{ a: 1n }, 2n] })).to.include('<td>[{"a":1},2]</td>')
  })
})
