import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { idsInText } from '#src/wire/logs/ids-in-text.ts'
import { serviceInText } from '#src/wire/logs/service-in-text.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const spanId = '00f067aa0ba902b7'
const short = '5b8efff798038103'

/** A line of each, as its program writes it, and the ids in it. */
const lines: Readonly<Record<string, readonly [line: string, traceId: string, spanId?: string]>> = {
  'Spring Boot 3': [`INFO 1 --- [shop] [nio-8080-exec-1] [${traceId}-${spanId}] c.a.Shop : x`, traceId, spanId],
  'Spring Cloud Sleuth': [`INFO [shop,${traceId},${spanId}] 1 --- x`, traceId, spanId],
  'Spring Cloud Sleuth, short ids': [`INFO [shop,${short},${spanId},true] x`, short.padStart(32, '0'), spanId],
  logfmt: [`level=info msg=x trace_id=${traceId} span_id=${spanId}`, traceId, spanId],
  'logfmt, in quotes': [`level=info trace_id="${traceId}" span_id="${spanId}"`, traceId, spanId],
  'logfmt, in capitals': [`msg=x traceID=${traceId.toUpperCase()}`, traceId],
  "structlog's console, in colours": [
    `\u001b[1mdeclined\u001b[0m \u001b[36mspan_id\u001b[0m=\u001b[35m${spanId}\u001b[0m \u001b[36mtrace_id\u001b[0m=\u001b[35m${traceId}\u001b[0m`,
    traceId,
    spanId,
  ],
  'New Relic, behind a long text': [
    `${'x'.repeat(4_000)} NR-LINKING|MzU|web-1|${traceId}|${spanId}|my%20shop|`,
    traceId,
    spanId,
  ],
  'New Relic, older agents': [`x NR-LINKING|MzU|web-1|${traceId}|${spanId}`, traceId, spanId],
  JSON: [`{"trace_id":"${traceId}","span_id": "${spanId}"}`, traceId, spanId],
  "OpenTelemetry's names in Python": [
    `[trace_id=${traceId} span_id=${spanId} resource.service.name=a] x`,
    traceId,
    spanId,
  ],
  'OpenTelemetry for Python, a record it prints': [
    `{"body": "x", "trace_id": "0x${traceId}", "span_id": "0x${spanId}", "trace_flags": 1}`,
    traceId,
    spanId,
  ],
  'a mark of hex digits, whose digits are none of a decimal number': [
    '[dd.trace_id=0x1234567890123456 dd.span_id=0x1122334455667788] x',
    '1234567890123456'.padStart(32, '0'),
    '1122334455667788',
  ],
  Datadog: [
    `[dd.service=a dd.trace_id=1234567890123456789 dd.span_id=42] x`,
    '112210f47de98115'.padStart(32, '0'),
    '2a'.padStart(16, '0'),
  ],
  'Datadog, 128 bits': [`[dd.service=a dd.trace_id=${traceId} dd.span_id=42] x`, traceId, '2a'.padStart(16, '0')],
  'a traceparent': [`GET /x 00-${traceId}-${spanId}-01`, traceId, spanId],
}

const others: readonly string[] = [
  '',
  'order stored',
  `order ${traceId} stored`,
  `sha256 ${traceId}${traceId}`,
  `[${traceId}]`,
  `my_trace_id=${traceId}`,
  `GET /api/traces?trace_id=${traceId} 200`,
  `GET /search?q=a&traceId=${traceId} 200`,
  `GET /trace_id=${traceId} 200`,
  '[1795945602123456,1795945602123457]',
  'stored [a,1795945602123456,1795945602123457]',
  '[00007f1234560000-00007f1234570000]',
  `parent.trace_id=${traceId}`,
  `trace_id=${traceId}-1`,
  `trace_id=${'0'.repeat(32)} span_id=${spanId}`,
  `span_id=${spanId}`,
  `trace_id=0x${'0'.repeat(32)} span_id=0x${spanId}`,
  `trace_id=0x0x${traceId}`,
  `${'x'.repeat(3_000)} trace_id=${traceId}`,
]

describe('the ids that a line of text says of itself', () => {
  for (const [program, [line, trace, span]] of Object.entries(lines)) {
    it(`are those of ${program}`, () => expect(idsInText(line)).to.deep.equal({ traceId: trace, spanId: span }))
  }

  it('are none where an id stands without a name, or is of something else', () => {
    expect(others.filter((line) => idsInText(line) !== undefined)).to.deep.equal([])
  })

  it("are those of New Relic's last mark, behind whatever the line quotes", () => {
    const linking = `NR-LINKING|MzU|web-1|${traceId}|${spanId}|shop|`
    const quoting = `the agent adds NR-LINKING|MzU|web-1|${'ab'.repeat(16)}|${'cd'.repeat(8)}|other| ${linking}`
    for (const line of [`NR-LINKING| is added ${linking}`, quoting, `${linking} and more`])
      expect(idsInText(line), line).to.deep.equal({ traceId, spanId })
    expect(serviceInText(quoting)).to.equal('shop')
  })

  it('are those of a record that names no trace, and of no other', () => {
    const other = 'ab'.repeat(16)
    const message = `x trace_id=${traceId} span_id=${spanId}`
    const idsOf = (body: string, type: string): unknown =>
      decodeLogs(Buffer.from(body), type, { receivedAt: 0, limits }).map((record: LogRecord) => [
        record.traceId,
        record.spanId,
      ])
    expect(idsOf(`${message}\nup`, 'text/plain')).to.deep.equal([
      [traceId, spanId],
      [null, null],
    ])
    const records = [
      { message, trace_id: other },
      { message, traceparent: `00-${other}-${'cd'.repeat(8)}-01` },
      { message, span_id: 'cd'.repeat(8) },
    ]
    expect(idsOf(JSON.stringify(records), 'application/json')).to.deep.equal([
      [other, null],
      [other, 'cd'.repeat(8)],
      [traceId, 'cd'.repeat(8)],
    ])
  })
})
