import { expect } from 'chai'
import { limits as defaults } from '#src/config.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { scanRum, type RumKeep, type RumScan } from '#src/wire/rum/scan.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = (spanId: string): string =>
  `{"traceId":"${traceId}", "spanId":"${spanId}","name":"GET","startTimeUnixNano":"1795247820123456789","endTimeUnixNano":"1795247820123456799"}`
const traces = (...spans: readonly string[]): string =>
  `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join(',')}]}]}]}`
const s1 = '00f067aa0ba902b7'
const s2 = '00f067aa0ba902b8'

function scan(body: string, contentType: string | undefined = 'application/json', limits = {}): RumScan {
  const scanned = scanRum(Buffer.from(body), contentType, { ...defaults, ...limits })
  if (!scanned.ok) throw new Error(`${scanned.error.code}: ${scanned.error.detail}`)
  return scanned.value
}

function refused(body: string, contentType: string | undefined = 'application/json', limits = {}): Refusal {
  const scanned = scanRum(Buffer.from(body), contentType, { ...defaults, ...limits })
  if (scanned.ok) throw new Error('not refused')
  return scanned.error
}

const cut = (found: RumScan, keep: RumKeep): string => Buffer.from(found.cut(keep)).toString()

describe('the scan of a RUM request', () => {
  const faro = `{ "meta":{"app":{"name":"x"}} ,"logs":[{"message":"a"},{"message":"b"}],"exceptions":[{"type":"E"}],
    "events":[{"name":"c"}], "measurements":[{"type":"d","values":{"v":1.50}}], "traces": ${traces(span(s1), span(s2))} }`

  it('counts the parts of a Faro body and keeps it as received', () => {
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'text/plain;charset=UTF-8',
      ' Text/Plain ; charset=utf-8',
      '',
    ]) {
      const found = scan(faro, type)
      expect(found.form).to.equal('faro')
      expect(found.counts).to.deep.equal({ logs: 2, exceptions: 1, events: 1, measurements: 1, spans: 2 })
      expect([found.accepted, found.rejected, found.spans?.spans]).to.deep.equal([7, [], 2])
      expect(cut(found, {})).to.equal(faro)
      expect(cut(found, { spans: true, logs: true })).to.equal(faro)
    }
  })

  it('takes a body of traces alone for one of Faro', () => {
    const { form, counts } = scan(`{"traces":${traces(span(s1))}}`)
    expect([form, counts.spans]).to.deep.equal(['faro', 1])
  })

  it('counts nothing of a body of OTLP JSON but its spans', () => {
    const { form, counts } = scan(`{${traces(span(s1)).slice(1, -1)},"logs":[{"message":"a"}],"events":[{}]}`)
    expect([form, counts]).to.deep.equal(['otlp', { logs: 0, exceptions: 0, events: 0, measurements: 0, spans: 1 }])
  })

  it('leaves out what is not kept, the rest byte for byte', () => {
    const found = scan(faro)
    const events = '"events":[{"name":"c"}],"measurements":[{"type":"d","values":{"v":1.50}}]'
    const meta = '"meta":{"app":{"name":"x"}}'
    const left = `{${meta},"logs":[],"exceptions":[],${events},"traces":{}}`
    expect(cut(found, { logs: false, exceptions: false, spans: false })).to.equal(left)
    const first = cut(found, { spans: (index) => index === 0 })
    expect(first).to.contain(span(s1)).and.not.contain(s2)
    expect(scan(first).counts).to.deep.equal({ ...found.counts, spans: 1 })
    expect(scan(cut(found, { events: false, measurements: false })).counts).to.deep.equal({
      ...found.counts,
      events: 0,
      measurements: 0,
    })
    expect(found.spans?.identify(1)).to.deep.equal({ traceId, spanId: s2 })
  })

  it('takes OTLP JSON by itself', () => {
    const body = traces(span(s1), span(s2))
    const found = scan(body, 'text/plain')
    expect([found.form, found.counts.spans, found.accepted]).to.deep.equal(['otlp', 2, 2])
    expect(cut(found, {})).to.equal(body)
    expect(cut(found, { spans: (index) => index === 1 }))
      .to.contain(s2)
      .and.not.contain(s1)
    expect(scan(cut(found, { spans: false })).accepted).to.equal(0)
  })

  it('takes the plain form', () => {
    const body = '{"session_id":"s","events":[{"type":"view"},{"type":"click"}]}'
    const found = scan(body)
    expect([found.form, found.counts.events, found.accepted, cut(found, {})]).to.deep.equal(['plain', 2, 2, body])
    expect(cut(found, { events: false })).to.equal('{"session_id":"s","events":[]}')
  })

  it('leaves a body in its form, whatever is left out', () => {
    const event = '"events":[{"name":"c"}]'
    for (const [body, keep, left] of [
      [`{"logs":[1],${event}}`, {}, `{"logs":[],${event}}`],
      [`{"exceptions":[{}],${event}}`, { exceptions: false }, `{"exceptions":[],${event}}`],
      [`{"measurements":{},${event}}`, {}, `{"measurements":[],${event}}`],
      [`{"traces":${traces(span(s1))},${event}}`, { spans: false }, `{"traces":{},${event}}`],
      [`{"traces":[1],${event}}`, {}, `{"traces":{},${event}}`],
    ] as const) {
      const found = scan(body)
      expect([found.form, cut(found, keep)], body).to.deep.equal(['faro', left])
      expect(scan(left), body).to.deep.include({ form: 'faro', accepted: 1, rejected: [] })
    }
  })

  it('takes a byte order mark, and stores the body without', () => {
    const found = scan(`\ufeff${faro}`)
    expect(cut(found, {})).to.equal(faro)
  })

  it('takes empty and absent parts', () => {
    expect(scan('{"meta":{}}').accepted).to.equal(0)
    expect(scan('{"meta":{},"logs":[],"events":null,"traces":null}')).to.deep.include({ accepted: 0, rejected: [] })
    expect(scan('{"resourceSpans":[]}').accepted).to.equal(0)
    expect(scan('{"events":[]}').accepted).to.equal(0)
  })

  it('rejects bad items alone and cuts them out', () => {
    const deep = (less: number): string =>
      `{"a":${'['.repeat(defaults.jsonDepthMax - less)}${']'.repeat(defaults.jsonDepthMax - less)}}`
    const body = `{"meta":{},"logs":[{"message":"a"}, 5,{"message": "b"}],"events":{"name":"x"},"exceptions":[${deep(0)},${deep(1)},null],"traces":${traces(span(s1), span('zz'), span(s2))}}`
    const found = scan(body)
    expect(found.rejected.map(({ part, index, code }) => [part, index, code])).to.deep.equal([
      ['logs', 1, 'not_an_object'],
      ['exceptions', 0, 'too_deep'],
      ['exceptions', 2, 'not_an_object'],
      ['events', 0, 'not_an_array'],
      ['spans', 1, 'invalid_span'],
    ])
    expect(found.accepted).to.equal(5)
    const kept = cut(found, {})
    expect(kept).to.contain('"logs":[{"message":"a"},{"message": "b"}]').and.contain('"events":[]')
    expect(scan(kept)).to.deep.include({ counts: found.counts, rejected: [] })
  })

  it('rejects traces that are none, and keeps the rest', () => {
    const found = scan('{"meta":{},"logs":[{"message":"a"}],"traces":[1]}')
    expect(found.counts).to.deep.include({ logs: 1, spans: 0 })
    expect(found.rejected.map(({ part, code }) => [part, code])).to.deep.equal([['spans', 'invalid_traces']])
    expect(cut(found, {})).to.equal('{"meta":{},"logs":[{"message":"a"}],"traces":{}}')
  })

  it('counts a repeated part once, as the last one', () => {
    const found = scan('{"meta":{},"logs":[{"message":"a"}],"logs":[{"message":"b"},{"message":"c"},1]}')
    expect(found.counts.logs).to.equal(2)
    expect(cut(found, {})).to.equal('{"meta":{},"logs":[{"message":"b"},{"message":"c"}]}')
  })

  it('refuses what is no RUM body', () => {
    for (const body of [
      '',
      '[]',
      '[{"events":[]}]',
      '"x"',
      '{',
      '{"meta":{}',
      '{"meta":{}} x',
      '{"meta":{},}',
      '{"a":1}',
      '{}',
      'null',
      '{"resourceSpans":5}',
    ]) {
      expect(refused(body).code, body).to.equal('invalid_body')
    }
    const many = Array.from({ length: 300 }, (_unused, index) => `"k${index}":1`).join(',')
    expect(refused(`{"meta":{},${many}}`).code).to.equal('invalid_body')
    expect(refused('{"meta":{}', 'image/png').code).to.equal('unsupported_media_type')
    const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(refused(`{"meta":${deep(defaults.jsonDepthMax)}}`).code).to.equal('invalid_body')
    expect(refused(`{"meta":${deep(1_000_000)}}`).code).to.equal('invalid_body')
    expect(refused(traces(span(s1)).slice(0, -1)).code).to.equal('invalid_body')
  })

  it('says of OTLP logs and metrics that they are not read, and what to do instead', () => {
    const logs = refused('{"resourceLogs":[{"scopeLogs":[{"logRecords":[]}]}]}')
    expect(logs.code).to.equal('invalid_body')
    expect(logs.detail).to.contain('OTLP logs (`resourceLogs`) are not read here')
    expect(logs.detail).to.contain('send them with Grafana Faro, or as {session_id, events}')
    const metrics = refused('{"resourceMetrics":[]}')
    expect(metrics.detail).to.contain('OTLP metrics (`resourceMetrics`) are not read here')
    expect(refused('{"a":1}').detail).to.contain('none of the forms that are read here')
  })

  it('refuses more items or values than a request may have', () => {
    const limits = { recordsPerBatchMax: 6 }
    expect(refused(faro, 'application/json', limits).code).to.equal('payload_too_large')
    expect(scan(faro, 'application/json', { recordsPerBatchMax: 7 }).accepted).to.equal(7)
    const values = `{"meta":{},"events":[{"attributes":[${'1,'.repeat(200)}1]}]}`
    expect(refused(values, 'application/json', { nodesPerRequestMax: 100 }).code).to.equal('payload_too_large')
    const spans = `{"meta":{},"traces":${traces(span(s1), span(s2))}}`
    expect(refused(spans, 'application/json', { recordsPerBatchMax: 1 }).code).to.equal('payload_too_large')
    // Of spans by themselves the nodes are counted, as everywhere.
    expect(scan(traces(span(s1)), 'application/json', { nodesPerRequestMax: 3 }).accepted).to.equal(1)
  })

  it('refuses items that come to more, with the meta that each is kept with, than a request may', () => {
    const items = (count: number): string => Array.from({ length: count }, () => '{}').join(',')
    const meta = JSON.stringify({ user: { id: 'u'.repeat(1_000) } })
    const body = (events: number, logs: number): string =>
      `{"meta":${meta},"events":[${items(events)}],"logs":[${items(logs)}]}`
    const limits = { decodedBytesMax: 100 * meta.length }
    expect(scan(body(60, 40), 'application/json', limits).accepted).to.equal(100)
    const { code, detail } = refused(body(60, 41), 'application/json', limits)
    expect([code, detail]).to.deep.equal([
      'payload_too_large',
      `each item is kept with meta, and so they come to more than ${limits.decodedBytesMax} bytes: send less meta, or smaller batches`,
    ])
    const values = { nodesPerRequestMax: 1_000 }
    const listed = (events: number, more = ''): string => `{"meta":{"a":[1,2,3]${more}},"events":[${items(events)}]}`
    // Four values are kept with each item, and the body has six beside its items.
    expect(scan(listed(198), 'application/json', values).accepted).to.equal(198)
    expect(refused(listed(199), 'application/json', values)).to.include({
      code: 'payload_too_large',
      detail:
        'each item is kept with meta, and so they come to more than 1000 values: send less meta, or smaller batches',
    })
    // The list of the SDK's plug-ins is not kept with the items.
    const sdk = `,"sdk":{"integrations":[${items(5)}]}`
    expect(scan(listed(197, sdk), 'application/json', values).accepted).to.equal(197)
    // A megabyte on the wire, which was ten thousand records of a megabyte.
    expect(refused(`{"meta":{"user":{"id":"${'u'.repeat(1_000_000)}"}},"events":[${items(10_000)}]}`).code).to.equal(
      'payload_too_large',
    )
  })
})
