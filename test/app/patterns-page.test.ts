import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { noonNs } from '#test/projections/traces/given.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { attacks } from './attacks.ts'
import { createBrowser, createPerson, password } from './harness.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const secondNs = 1_000_000_000n

describe('the page of patterns', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  let workspace: SignedIn['workspace']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site, workspace } = signedIn)
  })

  const open = async (address: string): Promise<string> => {
    const { status, text } = await browser.get(address)
    expect(status, address).to.equal(200)
    return text
  }
  const bare = (markup: string): string =>
    linksOfPage(`<a>${markup.replaceAll(/<[^>]*>/g, '')}</a>`)
      .map(({ name }) => name)
      .join('')
  /** The rows: the pattern, and the text of the other cells. */
  const rowsOf = (text: string) =>
    [
      ...(text.split('<table class="figures cards patterns">')[1] ?? '').matchAll(/<tr class="(\w+)">([^]*?)<\/tr>/g),
    ].map(([, worst, row = '']) => {
      const [, pattern = ''] = /<th[^>]*>([^]*?)<p class="(?:row|note)">/.exec(row) ?? []
      const cells = [...row.matchAll(/<td[^>]*>([^]*?)<\/td>/g)].map(([, cell = '']) => bare(cell))
      return { worst, pattern: bare(pattern), cells, links: linksOfPage(row) }
    })
  const patternsOn = (text: string): readonly string[] => rowsOf(text).map(({ pattern }) => pattern)
  const rowOf = (text: string, pattern: string) =>
    present(
      rowsOf(text).find((row) => row.pattern === pattern),
      pattern,
    )
  const messagesOn = (text: string): readonly string[] =>
    [...(text.split('<table class="logs">')[1] ?? '').matchAll(/<summary>([^]*?)<\/summary>/g)].map(([, line = '']) =>
      bare(line),
    )
  const saidOn = (text: string): string => bare(/<div id="results">\s*<p>([^]*?)<\/p>/.exec(text)?.[1] ?? '')

  const addressOf = (text: string, name: string): string =>
    present(
      linksOfPage(text).find((link) => link.name === name),
      name,
    ).address
  const addressIn = (text: string, pattern: string, name: string): string =>
    present(
      rowOf(text, pattern).links.find((link) => link.name === name),
      name,
    ).address

  const paid = 'order <num> paid in <num>'
  const shop = (): readonly Parameters<SignedIn['logs']>[1][] => [
    ...[1, 2, 3].map((n) => ({ message: `order ${n} paid in ${n}ms`, timeNs: noonNs + BigInt(n) * secondNs })),
    { message: 'order 4 paid in 1.5s', level: 'warn', service: 'web', timeNs: noonNs + 90n * secondNs },
    ...['ann', 'bob'].map((name) => ({ message: `user ${name} logged in`, service: 'web' })),
    { message: 'out of memory', level: 'fatal' },
    { message: '', fields: { code: 7n }, level: null, service: null },
  ]

  it('groups what a search finds, the most frequent first, with levels, services and times', async () => {
    await site.index(logs(1, ...shop()))
    const text = await open('/app/patterns')
    expect(saidOn(text)).to.match(
      /^4 patterns in all 8 records that match, from 2026-11-21 12:00:00.000 UTC to .* UTC\.$/,
    )
    expect(rowsOf(text).map(({ worst, pattern, cells }) => [pattern, worst, ...cells.slice(0, 3)])).to.deep.equal([
      [paid, 'warn', '4 50 %', 'warn 1info 3', 'checkoutweb'],
      ['user <*> logged in', 'info', '2 25 %', 'info 2', 'web'],
      ['no text', 'none', '1 13 %', 'none 1', ''],
      ['out of memory', 'fatal', '1 13 %', 'fatal 1', 'checkout'],
    ])
    expect(rowOf(text, 'user <*> logged in').cells[3]).to.equal('2026-11-21 12:00:00.000')
    expect(text.match(/<p class="note">order[^<]*/g)).to.deep.equal(['<p class="note">order 4 paid in 1.5s'])
    expect(rowOf(text, paid).cells[3]).to.equal('2026-11-21 12:01:30.0002026-11-21 12:00:01.000, 1.48 min before')
    const trends = [...text.matchAll(/<svg class="bar"[^>]*>([^]*?)<\/svg>/g)].map(([, drawn = '']) =>
      [...drawn.matchAll(/<rect x="(\d+)"/g)].map(([, x]) => x),
    )
    expect(trends).to.deep.equal([['0', '23'], ['0'], ['0'], ['0']])
    expect(saidOn(await open('/app/patterns?q=order'))).to.include('1 pattern in all 4 records that match')
    expect(patternsOn(await open('/app/patterns?level=fatal&service=checkout'))).to.deep.equal(['out of memory'])
    expect(patternsOn(await open('/app/patterns?first=rarest')).at(-1)).to.equal(paid)
  })

  it('leads to the records of a pattern within the same search, to one in context, and back', async () => {
    await site.index(
      logs(1, ...shop(), { message: 'order 9 paid', service: 'web' }, { message: 'the user bob has logged in' }),
    )
    const list = await open('/app/logs?q=order+OR+user&service=web&from=-2h&fields=code&order=asc')
    const text = await open(addressOf(list, 'Patterns'))
    expect(patternsOn(text)).to.deep.equal(['user <*> logged in', 'order <num> paid', paid])
    expect(messagesOn(await open(addressOf(text, 'Records')))).to.deep.equal(
      messagesOn(list).map((line) => line.replace(/^code \d /, '')),
    )
    const only = addressIn(text, 'user <*> logged in', 'user <*> logged in')
    expect(Object.fromEntries(new URLSearchParams(only.split('?')[1]))).to.deep.equal({
      q: '(order OR user) AND message:user AND message:"logged in"',
      service: 'web',
      from: '-2h',
      order: 'asc',
    })
    expect(messagesOn(await open(only))).to.have.members(['user ann logged in', 'user bob logged in'])
    const near = await open(addressIn(text, paid, 'Newest in context'))
    expect(near).to.include('Before and after').and.include('order 4 paid in 1.5s')
  })

  it('leaves a pattern out where a search can say that, and no other with it', async () => {
    await site.index(logs(1, ...shop(), { message: 'order 9 of ann paid in the morning' }))
    const text = await open('/app/patterns')
    const all = patternsOn(text)
    const leaving = rowsOf(text).flatMap(({ pattern, links }) =>
      links.flatMap(({ name, address }) => (name.startsWith('Leave out: ') ? [{ pattern, address }] : [])),
    )
    expect(leaving.map(({ pattern }) => pattern)).to.have.members([
      'user <*> logged in',
      'out of memory',
      'order <num> of ann paid in the morning',
    ])
    for (const { pattern, address } of leaving) {
      expect(patternsOn(await open(address)), pattern).to.have.members(all.filter((each) => each !== pattern))
    }
  })

  it('says how much it has read of what there is, and then leaves out nothing that varies', async () => {
    const many = Array.from({ length: 1_100 }, (_, n) => ({
      message: `tick ${n}`,
      timeNs: noonNs + BigInt(n) * secondNs,
    }))
    const old = { timeNs: noonNs - 3_600n * secondNs }
    await site.index(
      logs(1, ...many),
      logs(2, ...many.map(({ timeNs }, n) => ({ message: `tock ${n}`, timeNs }))),
      logs(3, { message: 'the first', ...old }, { message: 'the last', timeNs: noonNs + 2_000n * secondNs }),
    )
    const text = await open('/app/patterns')
    expect(saidOn(text)).to.match(
      /^3 patterns in the newest 2,000 of 2,202 records that match, from .* Only these were read/,
    )
    expect(patternsOn(text)).to.have.members(['tick <num>', 'tock <num>', 'the last'])
    expect(rowOf(text, 'the last').cells[0]).to.equal('1 < 0.1 %')
    const leaving = rowsOf(text).filter(({ links }) => links.some(({ name }) => name.startsWith('Leave out')))
    expect(leaving.map(({ pattern }) => pattern)).to.deep.equal(['the last'])
    const oldest = await open('/app/patterns?order=asc')
    expect(saidOn(oldest))
      .to.include('in the oldest 2,000 of 2,202 records')
      .and.include('from 2026-11-21 11:00:00.000')
    expect(patternsOn(oldest)).to.include('the first')
  })

  it('reads no more of large records than a few pages, and says so', async () => {
    const large = Array.from({ length: 40 }, (_, n) => ({
      message: `large ${n}`,
      fields: { body: 'x'.repeat(1_000_000) },
    }))
    await site.index(logs(1, ...large))
    const [, read = ''] = /in the newest (\d+) of 40 records/.exec(saidOn(await open('/app/patterns'))) ?? []
    expect(Number(read)).to.be.within(4, 39)
  })

  it('shows so many patterns and no more', async () => {
    const letters = 'abcdefghijklmnop'
    const word = (n: number): string => letters.charAt(n % 16) + letters.charAt(Math.floor(n / 16))
    await site.index(logs(1, ...Array.from({ length: 120 }, (_, n) => ({ message: `${word(n)} happened` }))))
    const text = await open('/app/patterns')
    expect(patternsOn(text)).to.have.length(100)
    expect(saidOn(text)).to.include('120 patterns in all 120 records').and.include('These are the 100 most frequent.')
    expect(saidOn(await open('/app/patterns?first=rarest'))).to.include('These are the 100 rarest.')
  })

  it('refuses what the search of logs refuses, and keeps what was typed', async () => {
    for (const [search, words] of [
      ['q=(open', 'is not closed'],
      ['first=last', 'first'],
      ['nonsense=1', 'nonsense'],
      ['order=random', 'order'],
      ['from=never', 'from'],
    ] as const) {
      const { status, text } = await browser.get(`/app/patterns?${search}`)
      expect(status, search).to.equal(400)
      expect(text, search).to.include('role="search"').and.include('role="alert"').and.include(words)
    }
    expect(await open('/app/patterns?q=nothing')).to.include('No log records match.')
    expect(await open('/app/patterns?around=x&before=3&fields=a&limit=1')).to.include('No log records match.')
  })

  it('is the text that was sent, whatever it is', async () => {
    const odd = [
      '\u202eevil\u202c',
      '\0',
      '\u0007\u001b[31mred\u001b[0m',
      '\ud800',
      '\u200b',
      ' ',
      'x'.repeat(200_000),
      'Z\u0301\u0302'.repeat(5_000),
      '<num>',
    ]
    const messages = [...attacks, ...attacks.map((attack) => `${attack} ${attack}`), ...odd]
    await site.index(logs(1, ...messages.map((message) => ({ message, service: message.slice(0, 300) }))))
    const text = await open('/app/patterns')
    // Without what stands in quoted attribute values, where it is escaped and harmless.
    expect(text.replaceAll(/"[^"]*"/g, '""')).to.not.match(/<img|<svg\/|<script>|<[^>]* (?:on\w+|style)=/)
    expect(text.length).to.be.below(200_000)
    expect(text).to.include('<bdi>')
    for (const { pattern, links } of rowsOf(text)) {
      for (const { name, address } of links)
        expect((await browser.get(address)).status, `${pattern}: ${name}`).to.equal(200)
    }
  })

  it('goes by the plan and the workspace that it is asked in', async () => {
    await site.index(logs(1, { message: 'a secret' }))
    expect(patternsOn(await open(`/app/patterns?workspace=${workspace}`))).to.deep.equal(['a secret'])
    await createPerson(site.directory, 'eve@other.example', 'Other')
    const eve = createBrowser(site)
    await eve.post('/app/sign-in', { email: 'eve@other.example', password })
    const { text } = await eve.get(`/app/patterns?workspace=${workspace}`)
    expect(text).to.include('No log records match.').and.not.include('a secret')
    await site.directory.changePlan(workspace, 'tracing-only')
    expect((await browser.get('/app/patterns')).status).to.equal(403)
  })
})
