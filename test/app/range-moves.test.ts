import { expect } from 'chai'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

describe('links to ranges of time beside the one that is searched', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  // The clock stands at 2026-11-21 13:00 UTC.
  eachSignedIn((signedIn) => ({ browser, site } = signedIn))

  const names = ['Earlier', 'Later', 'Wider']
  const fixed = 'Share'
  const dayBefore = 'Day before'
  /** Where they lead: from, to, and the other conditions. */
  async function movesOn(
    address: string,
    named: readonly string[] = names,
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    const { status, text } = await browser.get(address)
    expect(status, address).to.equal(200)
    const [, nav = ''] = /<nav class="tabs" aria-label="Time range">([^]*?)<\/nav>/.exec(text) ?? []
    const links = linksOfPage(nav).filter(({ name }) => named.includes(name))
    return Object.fromEntries(
      links.map(({ name, address: moved }) => {
        const search = new URLSearchParams(moved.split('?')[1])
        const ends = ['from', 'to'].map((end) => search.getAll(end).join() || '-')
        for (const end of ['from', 'to']) search.delete(end)
        return [name, [...ends, search.toString()]]
      }),
    )
  }

  for (const [path, more] of [
    ['/app/logs', 'q=a+b&level=warn&level=error'],
    ['/app/traces', 'q=a+b&has=logs'],
    ['/app/sessions', 'q=a+b&has=error'],
  ] as const) {
    it(`lead ${path} earlier, later and to a wider one, with all that else is asked for`, async () => {
      await site.index()
      const from = '2026-11-21T10:00:00.000000001Z'
      expect(await movesOn(`${path}?${more}&from=${from}&to=2026-11-21T11:00Z`)).to.deep.equal({
        Earlier: ['2026-11-21T09:00Z', from, more],
        Later: ['2026-11-21T11:00:00.000000000Z', '2026-11-21T12:00Z', more],
        Wider: ['2026-11-21T09:30Z', '2026-11-21T11:30Z', more],
      })
    })
  }

  it('are open where they reach the present', async () => {
    await site.index()
    const hour = '2026-11-21T12:00:00.000000000Z'
    expect(await movesOn('/app/logs?from=-1h')).to.deep.equal({
      Earlier: ['2026-11-21T11:00Z', hour, ''],
      Wider: ['2026-11-21T11:00Z', '-', ''],
    })
    expect(await movesOn('/app/logs?from=2026-11-21T12:00Z&to=2026-11-21T12:30Z')).to.deep.equal({
      Earlier: ['2026-11-21T11:30Z', hour, ''],
      Later: ['2026-11-21T12:30:00.000000000Z', '-', ''],
      Wider: ['2026-11-21T11:45Z', '2026-11-21T12:45Z', ''],
    })
    expect((await movesOn('/app/logs?from=2026-11-21T12:00Z&to=2026-11-22T12:00Z'))['Later']).to.equal(undefined)
    expect((await movesOn('/app/logs'))['Wider']).to.deep.equal(['2026-11-19T13:00Z', '-', ''])
  })

  it('lead to the same range of the day before, where it is shorter than a day', async () => {
    await site.index()
    for (const [range, ...ends] of [
      ['from=2026-11-21T10:00Z&to=2026-11-21T10:10:00.5Z', '2026-11-20T10:00Z', '2026-11-20T10:10:00.500Z'],
      ['from=2026-11-21T12:30Z', '2026-11-20T12:30Z', '2026-11-20T13:00Z'],
    ] as const) {
      for (const path of ['/app/logs', '/app/traces']) {
        expect(await movesOn(`${path}?q=a&${range}`, [dayBefore]), range).to.deep.equal({
          [dayBefore]: [...ends, 'q=a'],
        })
      }
    }
    for (const range of [
      '',
      'from=-24h',
      'from=-7d',
      'from=2026-11-19&to=2026-11-20',
      'from=1970-01-01T12:00Z&to=1970-01-01T13:00Z',
    ]) {
      expect(await movesOn(`/app/logs?${range}`, [dayBefore]), range).to.deep.equal({})
    }
  })

  it('lead to the same range as points in time, for who is sent the address tomorrow; unless it is one', async () => {
    await site.index()
    const hour = '2026-11-21T12:00Z'
    for (const relative of ['from=-1h', 'from=-1h&to=now', 'from=2026-11-21T12:00Z', 'from=-1h&to=2026-11-21T13:00Z']) {
      const moved = (await movesOn(`/app/logs?q=a&${relative}`, [fixed]))[fixed]
      expect([moved?.[0], Date.parse(moved?.[1] ?? '')], relative).to.deep.equal([hour, Date.UTC(2026, 10, 21, 13)])
      expect(moved?.[2]).to.equal('q=a')
      const address = `/app/logs?from=${moved?.[0]}&to=${moved?.[1]}`
      expect(await movesOn(address, [fixed]), address).to.deep.equal({})
    }
    for (const range of [
      'from=2026-11-21T12:00:00%2B01:00&to=2026-11-21T13:00Z',
      'from=1795176000&to=1795262400000',
      'from=2026-11-20&to=2026-11-21',
    ]) {
      expect(await movesOn(`/app/traces?${range}`, [fixed]), range).to.deep.equal({})
    }
  })

  it('lead from logs to the traces of the same time and service, and back', async () => {
    await site.index()
    const [traces, ofLogs] = ['Traces of this time', 'Logs of this time']
    const ends = ['2026-11-21T12:00Z', '-30m']
    const range = `from=${ends[0]}&to=${ends[1]}`
    const more = 'q=a&level=error&order=asc&fields=b&service=a+b'
    expect(await movesOn(`/app/logs?${more}&${range}`, [traces])).to.deep.equal({ [traces]: [...ends, 'service=a+b'] })
    const spans = `q=a&status=error&has=logs&order=longest&min_duration=1s&service=a+b&session_id=s`
    expect(await movesOn(`/app/traces?${spans}&${range}`, [ofLogs])).to.deep.equal({
      [ofLogs]: [...ends, 'service=a+b&session_id=s'],
    })
    expect(await movesOn(`/app/sessions?q=a&has=error&service=a+b&${range}`, [ofLogs])).to.deep.equal({
      [ofLogs]: [...ends, 'service=a+b'],
    })
    for (const [path, name, other] of [
      ['/app/logs', traces, '/app/traces'],
      ['/app/patterns', traces, '/app/traces'],
      ['/app/traces', ofLogs, '/app/logs'],
    ] as const) {
      const { address } = linksOfPage((await browser.get(path)).text).find((link) => link.name === name) ?? {}
      expect(address).to.equal(other)
      expect(await movesOn(`${path}?trace_id=5b8efff798038103d269b633813fc60c`, [name])).to.deep.equal({})
    }
  })

  it('are the same where the host has a zone of its own', async () => {
    const zone = process.env['TZ']
    process.env['TZ'] = 'America/New_York'
    try {
      expect(await movesOn('/app/traces?from=2026-11-21T10:00&to=2026-11-21 11:00', [...names, fixed])).to.deep.equal({
        Earlier: ['2026-11-21T09:00Z', '2026-11-21T10:00:00.000000000Z', ''],
        Later: ['2026-11-21T11:00:00.000000000Z', '2026-11-21T12:00Z', ''],
        Wider: ['2026-11-21T09:30Z', '2026-11-21T11:30Z', ''],
      })
    } finally {
      if (zone === undefined) delete process.env['TZ']
      else process.env['TZ'] = zone
    }
  })

  it('are searches themselves, from the shortest range to the longest', async () => {
    await site.index()
    const instant = 'from=2026-11-21T12:00Z&to=2026-11-21T12:00Z'
    for (const range of [instant, 'from=1970-01-01T00:01Z', 'from=1970-01-01', 'from=0001-01-01T00:00Z', 'from=-1ms']) {
      const { text } = await browser.get(`/app/logs?${range}`)
      for (const { name, address } of linksOfPage(text)) {
        if ([...names, dayBefore].includes(name))
          expect((await browser.get(address)).status, `${range} ${name}`).to.equal(200)
      }
    }
    expect(await movesOn('/app/logs?from=1970-01-01')).to.deep.equal({})
    expect(await movesOn('/app/logs?trace_id=5b8efff798038103d269b633813fc60c')).to.deep.equal({})
  })
})
