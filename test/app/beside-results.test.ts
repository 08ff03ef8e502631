import { expect } from 'chai'
import type { Workspace } from '#src/directory/directory.ts'
import { html } from '#src/app/html.ts'
import { facetRow } from '#src/app/search/facets.ts'
import { rangeMoves } from '#src/app/search/range-moves.ts'
import { behindPart } from '#src/app/context.ts'
import { nothingFits, pager } from '#src/app/search/beside-results.ts'
import { rangeLinks } from '#src/app/search/ranges.ts'
import { whatIsWrong } from '#src/app/search/refused-search.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'

const path = '/app/logs'
const plan: Workspace['plan'] = { name: 'free', features: ['logs', 'tracing'], spansPerMonth: 50_000, retentionDays: 7 }
const asked = { conditions: new URLSearchParams(), cursors: [], plan }

describe('parts of search pages', () => {
  it('say by how much the index is behind, where that is known', () => {
    const told = (lag: number, position = 8) =>
      textOf(behindPart({ complete: false, position, head: 9, lag_ms: lag }).markup)
    expect(told(1)).to.include('behind the log by 1 s:')
    expect(told(0)).to.include('behind the log:')
    expect(told(6_000, 9), 'nobody folds it').to.include('behind the log by 6 s:')
    expect(told(900, 9), 'it is folded, to the head').to.include('lacks something that was sent')
    expect(behindPart({ complete: true, position: 9, head: 9, lag_ms: 0 }).markup).to.equal('')
  })

  it('offer each range once, as far as the plan keeps anything', () => {
    for (const [keptDays, days] of [
      [1, []],
      [7, ['7 days']],
      [14, ['7 days', '14 days']],
      [30, ['7 days', '30 days']],
    ] as const) {
      const names = linksOfPage(
        rangeLinks(path, { ...asked, plan: { ...plan, retentionDays: keptDays } }, html``).markup,
      ).map(({ name }) => name)
      expect(names, `of ${keptDays}`).to.deep.equal(['15 minutes', 'hour', '6 hours', '24 hours', ...days])
    }
  })

  it('mark the range that is shown, where it is one of these', () => {
    const markedIn = (search: string) => {
      const { markup } = rangeLinks(path, { ...asked, conditions: new URLSearchParams(search) }, html``)
      return [...markup.matchAll(/aria-current="true">([^<]*)</g)].map(([, name]) => name)
    }
    const searches = ['', 'from=-1h', 'from=-1h&to=now', 'from=-2h', 'trace_id=5b8e', 'trace_id=5b8e&from=-6h']
    expect(searches.map(markedIn)).to.deep.equal([['24 hours'], ['hour'], [], [], [], ['6 hours']])
  })

  it('move on from a range that is shorter than a millisecond', () => {
    const [from, to] = ['2026-11-21T12:00:00.000000100Z', '2026-11-21T12:00:00.000000900Z']
    const { markup } = rangeMoves(path, asked, { from, to }, Date.UTC(2026, 10, 22))
    const { address = '' } = linksOfPage(markup).find(({ name }) => name === 'Earlier') ?? {}
    expect(new URLSearchParams(address.split('?')[1]).get('from')).to.equal('2026-11-21T11:59:59.999Z')
  })

  it('lead to the other search of the range only where the plan has it', () => {
    const others = (here: '/app/logs' | '/app/traces', features: Workspace['plan']['features']) =>
      linksOfPage(
        rangeMoves(here, { ...asked, plan: { ...plan, features } }, { from: '2026-11-21T12:00Z', to: null }, Date.now())
          .markup,
      ).filter(({ name }) => name.endsWith('of this time')).length
    expect(others('/app/logs', ['logs', 'tracing'])).to.equal(1)
    expect(others('/app/logs', ['logs'])).to.equal(0)
    expect(others('/app/traces', ['tracing'])).to.equal(0)
    expect(others('/app/traces', ['tracing', 'logs'])).to.equal(1)
  })

  it('say that a later page has no more, and not that nothing matches', () => {
    const told = (cursors: readonly string[]) =>
      textOf(
        nothingFits(path, { ...asked, cursors }, { noun: 'trace', range: { from: null, to: null }, nowMs: 0 }).markup,
      )
    expect([told(['c']), told([])]).to.deep.equal([
      'No more traces match.',
      'No traces match. See how to connect a sender.',
    ])
  })

  it('offer to narrow a search by values that it takes, and that have words', () => {
    const values = ['', 'shop', 'longer', 'logs'].map((value) => ({ value, count: 3 }))
    const facets = ['service', 'has'].map((field) => ({ field, values }))
    const groups = [
      { title: 'Service', name: 'service', charactersMax: 5 },
      {
        title: 'With',
        name: 'has',
        charactersMax: 20,
        words: (value: string) => (value === 'logs' ? 'logs' : undefined),
      },
    ]
    const { markup } = facetRow({ path, conditions: asked.conditions, groups, facets, normalized: '', noun: 'traces' })
    expect(linksOfPage(markup).map(({ name }) => name)).to.deep.equal(['shop 3', 'logs 3', 'logs 3'])
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
