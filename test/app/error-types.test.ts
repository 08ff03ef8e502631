import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { present } from '#src/lib/assert.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const traceback = (last: string): string =>
  `Traceback (most recent call last):\n  File "a.py", line 7, in charge\n${last}\n`

/** Records by their message, as loggers write errors. */
const records: readonly (readonly [message: string, fields: JsonObject])[] = [
  ['pino 1', { err: { type: 'Up "stream"', message: 'no answer' } }],
  ['pino 2', { err: { type: 'Up "stream"', message: 'reset' } }],
  ['ECS', { 'error.type': '<b>Declined', 'error.message': 'no money' }],
  ['Python', { exc_info: traceback('httpx.ReadTimeout: 3 s') }],
  ['structlog', { exception: traceback('KeyError: 7') }],
  ['TypeError: x is null', { type: 'TypeError', value: 'x is null' }],
  ['Quarkus', { exception: { exceptionType: 'java.lang.IllegalStateException', message: 'no funds' } }],
  ['WildFly', { stackTrace: ': java.io.IOException: reset\n\tat J.main(J.java:14)\n' }],
  ['zap', { error: 'dial tcp: refused', stacktrace: 'main.main\n\t/srv/main.go:34\nruntime.main\n\t/go/proc.go:290' }],
  [
    'structlog 26',
    { exception: [{ exc_type: 'LookupError', exc_value: 'no sku', frames: [] }, { exc_type: 'OSError' }] },
  ],
  ['none', { type: 'request' }],
]

describe('types of errors above a list of logs', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site } = signedIn)
  })

  const open = async (address: string): Promise<string> => {
    const { status, text } = await browser.get(address)
    expect(status, address).to.equal(200)
    return text
  }
  const linksIn = (text: string) =>
    linksOfPage(/<nav class="facets" aria-label="Errors of this page">[^]*?<\/nav>/.exec(text)?.[0] ?? '')
  const namesIn = (text: string): readonly string[] =>
    linksIn(text)
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('Not '))
  const messagesOn = (text: string): readonly string[] => {
    const [, rows = ''] = text.split('<table class="logs">')
    return records.map(([message]) => message).filter((message) => new RegExp(`<summary>${message}\\s*<`).test(rows))
  }

  it('are counted on the page, and narrow the search to one or leave it out', async () => {
    await site.index(logs(1, ...records.map(([message, fields]) => ({ message, fields, level: 'error' as const }))))
    const all = await open('/app/logs?level=error')
    expect(messagesOn(all)).to.have.length(records.length)
    expect(namesIn(all)[0]).to.equal('Up "stream" 2')
    expect(namesIn(all)).to.have.members([
      'Up "stream" 2',
      '<b>Declined 1',
      'httpx.ReadTimeout 1',
      'KeyError 1',
      'java.lang.IllegalStateException 1',
      'java.io.IOException 1',
      'TypeError 1',
      'LookupError 1',
    ])
    for (const [type, messages] of [
      ['Up "stream" 2', ['pino 1', 'pino 2']],
      ['<b>Declined 1', ['ECS']],
      ['httpx.ReadTimeout 1', ['Python']],
      ['KeyError 1', ['structlog']],
      ['java.lang.IllegalStateException 1', ['Quarkus']],
      ['java.io.IOException 1', ['WildFly']],
      ['TypeError 1', ['TypeError: x is null']],
      ['LookupError 1', ['structlog 26']],
    ] as const) {
      const addressOf = (name: string): string =>
        present(
          linksIn(all).find((link) => link.name === name),
          name,
        ).address
      const only = await open(addressOf(type))
      expect(messagesOn(only), type).to.deep.equal(messages)
      expect(only).to.include('level=error')
      expect(namesIn(only), `${type} of itself`).to.deep.equal([])
      const not = await open(addressOf(`Not error: ${type.slice(0, -2)}`))
      const others = records
        .map(([message]) => message)
        .filter((each) => !(messages as readonly string[]).includes(each))
      expect(messagesOn(not), `not ${type}`).to.deep.equal(others)
    }
  })

  it('are behind a fold where a row has no room for them, and none where no record names one', async () => {
    await site.index(
      logs(
        1,
        ...Array.from({ length: 11 }, (_, n) => ({
          message: 'many',
          fields: { err: { name: `E${n}${'x'.repeat(n * 20)}` } },
        })),
        { message: 'one' },
        { message: 'long', fields: { err: { name: 'E'.repeat(100_000) }, [`${'x'.repeat(500_000)}.err.type`]: 'E' } },
      ),
    )
    const text = await open('/app/logs')
    expect(namesIn(text.replace(/<summary aria-label="and others: [^]*?<\/details>/, ''))).to.have.length(8)
    expect(namesIn(text)).to.have.length(11)
    expect(linksIn(await open('/app/logs?q=one'))).to.deep.equal([])
    expect(linksIn(await open('/app/logs?q=nothing'))).to.deep.equal([])
  })
})
