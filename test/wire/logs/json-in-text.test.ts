import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
/** As pino writes it. */
const line = {
  level: 50,
  time: 1_795_945_602_123,
  pid: 7,
  service: 'pay',
  trace_id: traceId,
  order: { id: 7 },
  msg: 'no card',
}
const understood = { level: 'error', message: 'no card', service: 'pay', traceId, timeNs: 1_795_945_602_123_000_000n }
const kubernetes = { pod_name: 'pay-0', container_name: 'app' }

describe('a line of JSON that a shipper has sent as text', () => {
  const decode = (body: string, type = 'application/json', nodesPerRequestMax = 100_000): readonly LogRecord[] =>
    decodeLogs(Buffer.from(body), type, { receivedAt: 0, limits: { ...limits, nodesPerRequestMax } })
  const one = (record: object): LogRecord => decode(JSON.stringify([record]))[0] as LogRecord

  it('is taken apart, and its fields stand beside those of the shipper', () => {
    const text = JSON.stringify(line)
    const record = one({ log: `${text}\n`, stream: 'stderr', time: '2026-11-29T09:46:43Z', kubernetes })
    expect(record).to.include(understood)
    expect(record.fields).to.deep.equal({ ...line, stream: 'stderr', kubernetes })
    for (const name of ['message', 'msg', 'log', 'MESSAGE'])
      expect(one({ [name]: text, PRIORITY: '6' }), name).to.include(understood)
    const [first, second] = decode(`${text}\nup\n`, 'text/plain')
    expect(first).to.include(understood)
    expect(second).to.include({ message: 'up', level: null })
  })

  it('is taken apart where its message is a list of what was passed, as of Effect', () => {
    const golden = readFileSync(new URL('../../golden/logs/effect.json', import.meta.url), 'utf8')
    const { body } = JSON.parse(golden) as Readonly<{ body: string }>
    const asLines = decode(body, 'application/x-ndjson')
    expect(decode(body, 'text/plain')).to.deep.equal(asLines)
    expect(asLines[0]).to.include({ level: 'warn', message: 'stock low {"left":2}', service: 'shop' })
  })

  it('is taken apart where what was said is in an object, as Google Cloud’s logger for winston prints it', () => {
    const golden = readFileSync(new URL('../../golden/logs/google-cloud-winston.json', import.meta.url), 'utf8')
    const { body } = JSON.parse(golden) as Readonly<{ body: string }>
    const lines = body.split('\n').filter((printed) => printed.includes('"message":"'))
    const asLines = lines.map((printed) => decode(printed, 'application/x-ndjson')[0])
    expect(lines.map((printed) => decode(printed, 'text/plain')[0])).to.deep.equal(asLines)
    expect(asLines[0]).to.include({ level: 'info', message: 'paid' })
    const { severity, ...said } = { severity: 'ERROR', message: 'declined', service: 'shop' }
    expect(one({ log: JSON.stringify({ time: 1_795_945_602, event: { severity, ...said } }), kubernetes })).to.include({
      level: 'error',
      ...said,
    })
  })

  it('is taken apart as runtimes write it into their files', () => {
    const text = JSON.stringify(line)
    const { time: _time, ...timeless } = line
    const docker = (log: string): string =>
      JSON.stringify({ log: `${log}\n`, stream: 'stderr', time: '2026-11-29T09:46:43.5Z' })
    const containerd = (log: string): string => `2026-11-29T09:46:43.500000000Z stderr F ${log}`
    for (const written of [docker, containerd]) {
      const [of, ofTimeless] = decode(`${written(text)}\n${written(JSON.stringify(timeless))}\n`, 'text/plain')
      expect(of).to.include(understood)
      expect(of?.fields).to.deep.equal({ ...line, stream: 'stderr' })
      expect(ofTimeless).to.include({
        ...understood,
        timeNs: BigInt(Date.parse('2026-11-29T09:46:43.5Z')) * 1_000_000n,
      })
      expect(decode(written('ERROR up'), 'text/plain')[0]?.level).to.equal('error')
    }
    const inner = JSON.stringify({ level: 'info', msg: text })
    expect(one({ log: inner, stream: 'stderr' })).to.include({ level: 'info', message: text, service: null })
  })

  it('says what holds, by whatever name the shipper says the same beside it', () => {
    const text = JSON.stringify({ level: 50, ts: 1_795_945_602.1, app: 'pay', event: 'no card' })
    const said = {
      '@timestamp': '2026-11-30T00:00:00Z',
      service: 'infra',
      message: ' ',
      text: 'of a shipper',
      PRIORITY: '6',
    }
    const record = one({ ...said, log: text })
    expect(record).to.include({
      level: 'error',
      message: 'no card',
      service: 'pay',
      timeNs: 1_795_945_602_100_000_000n,
    })
    expect(record.fields).to.deep.equal({ ...said, ...JSON.parse(text) })
    const bare = one({ ...said, log: '{"level":50,"event":"no card","ts":"never"}' })
    expect(bare).to.include({ service: 'infra', timeNs: BigInt(Date.parse(said['@timestamp'])) * 1_000_000n })
  })

  it('has the digits of its own time, not those of the time of its shipper', () => {
    const precise = '{"level":"error","msg":"x","date":1795945602.123456789}'
    const shipped = (log: string): LogRecord | undefined =>
      decode(`[{"date":1795945603.987654321,"log":${JSON.stringify(log)}}]`)[0]
    expect(shipped(precise)?.timeNs).to.equal(1_795_945_602_123_456_789n)
    expect(shipped('{"level":"error","msg":"x","date":"2026-11-29T09:00:00Z"}')?.timeNs).to.equal(
      1_795_942_800_000_000_000n,
    )
    expect(shipped('{"level":"error","msg":"x"}')?.timeNs).to.equal(1_795_945_603_987_654_321n)
    const timed = shipped('{"service":"shop","msg":"GET / 200","time":12}')
    expect(timed, 'a number that dates nothing').to.include({ service: 'shop', timeNs: 1_795_945_603_987_654_321n })
  })

  it('may be no JSON behind the prefix of a container’s runtime, which is no part of the message and tells the time', () => {
    const log = '2026-11-29T09:46:42.080Z stderr F declined'
    const timeNs = BigInt(Date.parse('2026-11-29T09:46:42.080Z')) * 1_000_000n
    expect(one({ log })).to.deep.include({ message: 'declined', timeNs, fields: { log } })
    expect(one({ log, time: '2026-11-30T00:00:00Z' }).timeNs).not.to.equal(timeNs)
    const other = 'a-word-of-more-than-twenty-letters stderr F declined'
    expect(one({ log: other }).message).to.equal(other)
  })

  it('stays text where the shipper itself names a level or a trace', () => {
    const message = JSON.stringify(line)
    for (const beside of [{ level: 'info' }, { severity: 9 }, { trace_id: 'ab'.repeat(16) }]) {
      const record = one({ message, ...beside })
      expect(record.message).to.equal(message)
      expect(record.fields).to.deep.equal({ message, ...beside })
      expect(record.service).to.equal(null)
    }
  })

  it('stays text where it is no record of a log', () => {
    for (const text of [
      '{"order":7}',
      '{"message":"bought"}',
      '{"message":"","level":"error"}',
      '{"level":"error"}',
      '{"message":"cut off","level":"er',
      '{"message":"a","level":"error"} and more',
      '[{"message":"a","level":"error"}]',
      '{not JSON}',
      JSON.stringify({ ...line, rest: 'x'.repeat(70_000) }),
    ]) {
      expect(one({ log: text, stream: 'stdout' }), text.slice(0, 40)).to.include({ message: text, service: null })
    }
  })

  it('has the limits of any record', () => {
    const deep = `${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}`
    const nested = one({ log: `{"msg":"deep","level":"warn","rest":${deep}}` })
    expect(nested).to.include({ message: 'deep', level: 'warn' })
    expect(nested.cuts).to.deep.equal([`fields cut at depth ${limits.nestingDepthMax}`])
    const odd = one({ log: '{"msg":"odd","level":"warn","__proto__":{"level":"fatal"},"constructor":1}' })
    expect(odd).to.include({ message: 'odd', level: 'warn' })
    expect(Object.keys(odd.fields)).to.include.members(['__proto__', 'constructor'])
  })

  // A record at which the decoding throws is a dead letter, with its whole request; and too many of those end the fold.
  it('may be as deep as its characters allow, whatever numbers are in it and whatever its message is', () => {
    const opened = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    for (const number of ['1', '12345678901234567890', '1795945602.1234567', '1e400']) {
      const log = `{"msg":"deep","level":"warn","number":${number},"rest":${opened(30_000)}}`
      const deep = one({ log })
      expect(deep, number).to.include({ message: 'deep', level: 'warn' })
      expect(deep.cuts).to.deep.equal([`fields cut at depth ${limits.nestingDepthMax}`])
    }
    const said = one({ log: `{"message":${opened(30_000)},"msg":"deep","level":"warn"}` })
    expect(said).to.include({ message: opened(limits.jsonDepthMax - 1), level: 'warn' })
    const whole = `{"message":${opened(limits.jsonDepthMax - 1)},"msg":"x","level":"warn","of":"${'[{'.repeat(300)}"}`
    expect(one({ log: whole }).fields['of'], 'what is in a text is no level').to.equal('[{'.repeat(300))
    const broken = `{"msg":"deep","level":"warn","rest":${'['.repeat(300)}no JSON${']'.repeat(300)}}`
    expect(one({ log: broken }).fields).to.deep.equal({ log: broken })
  })

  it('stays text beyond what one request may have made of text', () => {
    const log = JSON.stringify(line)
    const body = JSON.stringify(Array.from({ length: 10 }, () => ({ log })))
    const messages = decode(body, 'application/json', 30).map(({ message }) => message)
    expect(messages).to.deep.equal([...Array(3).fill('no card'), ...Array(7).fill(log)])
  })
})
