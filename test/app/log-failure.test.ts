import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { linksOfPage } from '#test/support/page-links.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const python = [
  'Traceback (most recent call last):',
  '  File "/srv/charge.py", line 51, in charge',
  'httpx.ReadTimeout: no answer within 3 s',
  '',
].join('\n')
const java = ['java.sql.SQLException: pool is empty', '\tat com.acme.Pool.take(Pool.java:41)'].join('\n')
const net = ['System.NullReferenceException: no such entry', '   at Ledger.Book(Entry e)'].join('\r\n')

/** Fields beside the message, as loggers write them, and what its line says of them. */
const shapes: readonly (readonly [logger: string, fields: JsonObject, said: string])[] = [
  [
    'pino',
    { err: { type: 'UpstreamError', message: 'no answer', stack: 'UpstreamError: no answer\n    at a.js' } },
    'UpstreamError: no answer',
  ],
  [
    'bunyan',
    { err: { name: 'TypeError', message: 'x is null', stack: 'TypeError: x is null' } },
    'TypeError: x is null',
  ],
  ['ECS', { 'error.type': 'Declined', 'error.message': 'card 7 declined' }, 'Declined: card 7 declined'],
  [
    'OpenTelemetry',
    { attributes: { 'exception.type': 'io.Eof', 'exception.message': 'io.Eof at byte 7' } },
    'io.Eof at byte 7',
  ],
  ['Datadog', { error: { kind: 'KeyError', stack: 'KeyError: sku\n at b.py' } }, 'KeyError: sku'],
  [
    'Monolog',
    { context: { exception: { class: 'PDOException', message: 'gone away', code: 7n } } },
    'PDOException: gone away',
  ],
  [
    'loguru',
    { record: { exception: { type: 'ValueError', value: 'no digits', traceback: true } } },
    'ValueError: no digits',
  ],
  [
    'logback, JsonEncoder',
    { throwable: { className: 'java.io.IOException', message: 'no digits', stepArray: [] } },
    'java.io.IOException: no digits',
  ],
  ['log4j', { thrown: { name: 'java.io.IOException' } }, 'java.io.IOException'],
  [
    'Quarkus',
    {
      exception: {
        ...{ refId: 1n, exceptionType: 'java.lang.IllegalStateException', message: 'no funds' },
        frames: [{ class: 'J', method: 'main', line: 14n }],
        causedBy: { exception: { refId: 2n, exceptionType: 'java.lang.RuntimeException', message: 'card 12' } },
      },
    },
    'java.lang.IllegalStateException: no funds',
  ],
  [
    'Quarkus as ECS',
    {
      exception: {
        ...{ refId: 1n, exceptionType: 'java.lang.IllegalArgumentException', 'error.message': 'bad order' },
        frames: [{ class: 't.Shop$Worker', method: 'work', line: 13n }],
        causedBy: { exception: { refId: 2n, exceptionType: 'java.lang.RuntimeException', 'error.message': 'no id' } },
      },
    },
    'java.lang.IllegalArgumentException: bad order',
  ],
  [
    'structlog, dict_tracebacks',
    {
      exception: [
        {
          ...{ exc_type: 'KeyError', exc_value: 'no such sku', exc_notes: [], syntax_error: null, is_cause: false },
          ...{ frames: [{ filename: '/app/web.py', lineno: 18n, name: 'fail' }], is_group: false, exceptions: [] },
        },
        { exc_type: 'OSError', exc_value: 'gone', exc_notes: [], syntax_error: null, is_cause: true, frames: [] },
      ],
    },
    'KeyError: no such sku',
  ],
  [
    'Quarkus, formatted',
    { stackTrace: ': java.lang.IllegalStateException: no funds\n\tat J.main(J.java:14)\n' },
    'java.lang.IllegalStateException: no funds',
  ],
  ['zap', { error: 'dial tcp: refused', errorVerbose: 'dial tcp: refused\nmain.go:7' }, 'dial tcp: refused'],
  ['Python', { exc_info: python }, 'httpx.ReadTimeout: no answer within 3 s'],
  ['logback', { stack_trace: java }, 'java.sql.SQLException: pool is empty'],
  ['Serilog', { '@x': net }, 'System.NullReferenceException: no such entry'],
  ['Prisma', { err: { type: 'Unknown', message: '\n\nInvalid call:\n  more of it' } }, 'Unknown: Invalid call:'],
  ['coloured', { error: '\u001b[31mred\u001b[39m' }, 'red'],
]

describe('why a log record was written', () => {
  let browser: SignedIn['browser']
  let logs: SignedIn['logs']
  let site: SignedIn['site']
  eachSignedIn((signedIn) => {
    ;({ browser, logs, site } = signedIn)
  })

  const linesOn = async (address: string): Promise<readonly string[]> => {
    const [, rows = ''] = (await browser.get(address)).text.split('<table class="logs">')
    return [...rows.matchAll(/<summary>([^]*?)<\/summary>/g)].map(([, line = '']) => textOf(line))
  }

  it('stands behind its message, as loggers say it', async () => {
    await site.index(logs(1, ...shapes.map(([message, fields]) => ({ message, fields, level: 'error' as const }))))
    const lines = await linesOn('/app/logs')
    expect(lines.toSorted()).to.deep.equal(shapes.map(([message, , said]) => `${message} ${said}`).toSorted())
  })

  it('is not said again where the message has said it, and not made up', async () => {
    const records: readonly (readonly [message: string, fields: JsonObject])[] = [
      ['no answer', { err: { type: 'UpstreamError', message: 'no answer' } }],
      ['boom', { stack: 'Error: boom\n    at a.js' }],
      [java, { stack_trace: java }],
      ['retried', { error: true, exception: '  ', err: null, error_count: 3n, errors: ['a'], stack: [{ line: 7n }] }],
      ['zap', { stacktrace: 'main.main\n\t/srv/main.go:34\nruntime.main\n\t/usr/local/go/src/runtime/proc.go:290' }],
      [
        'debug.Stack',
        { stack: 'goroutine 1 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e' },
      ],
      ['typed', { type: 'TypeError', name: 'worker', value: 'x' }],
      ['quoted', { body: 'stack', terror: { message: 'not this' } }],
    ]
    await site.index(logs(1, ...records.map(([message, fields]) => ({ message, fields }))))
    expect((await linesOn('/app/logs')).toSorted()).to.deep.equal(
      records.map(([message]) => textOf(message)).toSorted(),
    )
  })

  it('stands out where the record is of an error, also among what belongs to its trace and in later rows', async () => {
    const err = { type: 'Declined', message: '<b>no</b> money' }
    await site.index(logs(1, { message: 'failed', level: 'fatal', trace: 't', sessionId: 's', fields: { err } }))
    const said = 'Declined: &lt;b&gt;no&lt;/b&gt; money'
    const bad = new RegExp(`failed <small class="bad"\\s*>${said}</small`)
    const { text } = await browser.get('/app/logs')
    expect(text).to.match(bad)
    const trace = linksOfPage(text).find(({ name }) => name === 'Trace')?.address ?? ''
    expect((await browser.get(trace)).text).to.match(bad)
    const [, address = '', cursor = ''] = /data-tail="([^"]*)" data-cursor="([^"]*)"/.exec(text) ?? []
    await site.index(
      logs(2, { message: 'again', level: 'info', fields: { err: { ...err, message: 'x'.repeat(500) } } }),
    )
    const later = await browser.get(`${address.replaceAll('&amp;', '&')}&cursor=${cursor}`)
    const { rows } = JSON.parse(later.text) as { rows: string }
    expect(rows).to.match(/again <small\s*>Declined: x{110} … \(390 more characters\)<\/small/)
  })

  it('show of a long message its beginning in its line, and do not call it shown where it is cut', async () => {
    const long = `begun ${'y'.repeat(20_000)} done`
    await site.index(logs(1, { message: long, fields: { msg: long } }))
    const { text } = await browser.get('/app/logs?q=done')
    expect(text).to.match(/<summary>begun y{294} … \(19,711 more characters\)<\/summary>/)
    expect(text).to.include('<th>msg</th>').and.not.include('the text above')
  })
})
