import { expect } from 'chai'
import { html } from '#src/app/html.ts'
import { behindPart, pager, rangeLinks, whatIsWrong } from '#src/app/search/search-parts.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'

const path = '/app/logs'
const asked = { conditions: new URLSearchParams(), cursors: [], keptDays: 7 }

describe('parts of search pages', () => {
  it('say by how much the index is behind, where that is known', () => {
    const told = (lag: number) => textOf(behindPart({ complete: false, lag_ms: lag }).markup)
    expect(told(1)).to.include('behind the log by 1 s:')
    expect(told(0)).to.include('behind the log:')
    expect(behindPart({ complete: true, lag_ms: 0 }).markup).to.equal('')
  })

  it('offer each range once, as far as the plan keeps anything', () => {
    for (const [keptDays, days] of [
      [1, []],
      [7, ['7 days']],
      [14, ['7 days', '14 days']],
      [30, ['7 days', '30 days']],
    ] as const) {
      const names = linksOfPage(rangeLinks(path, { ...asked, keptDays }, html``).markup).map(({ name }) => name)
      expect(names, `of ${keptDays}`).to.deep.equal(['15 minutes', 'hour', '6 hours', '24 hours', ...days])
    }
  })

  it('keep the way back in their address, as far as an address can bear it', () => {
    const cursors = Array.from({ length: 25 }, (_, at) => `c${at}`)
    const cursorsOf = (rel: string) => {
      const [, href = ''] =
        new RegExp(`rel="${rel}" href="([^#]*)#`).exec(pager(path, { ...asked, cursors }, 'c25').markup) ?? []
      return new URLSearchParams(href.slice(path.length).replaceAll('&amp;', '&')).getAll('cursor')
    }
    expect(cursorsOf('next')).to.deep.equal([...cursors.slice(6), 'c25'])
    expect(cursorsOf('prev')).to.deep.equal(cursors.slice(4, 24))
  })

  it('show of a search what is around the place where it is wrong', () => {
    const place = (query: string, position: number) => {
      const { markup } = whatIsWrong({ code: 'query_syntax', detail: 'It is wrong.', position }, query)
      return /<pre class="place">([^<]*)<\/pre>/.exec(markup)?.[1]
    }
    const [before, after] = ['b'.repeat(30), 'a'.repeat(30)]
    expect(place(before + after, 30)).to.equal(`${before}${after}\n${' '.repeat(30)}^`)
    expect(place(`x${before}${after}y`, 31)).to.equal(`…${before}${after}…\n${' '.repeat(31)}^`)
    expect(place(`😀${'b'.repeat(29)}`, 31)).to.equal(`…\ufffd${'b'.repeat(29)}\n${' '.repeat(31)}^`)
  })
})
