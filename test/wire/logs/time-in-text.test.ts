import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const receivedAt = 1_800_000_000_000
const timeOf = (record: unknown): string | undefined => {
  const text = typeof record === 'string'
  const body = Buffer.from(text ? record : JSON.stringify(record))
  const type = text ? 'text/plain' : 'application/json'
  const [found] = decodeLogs(body, type, { receivedAt, limits })
  const ms = Number((found?.timeNs ?? 0n) / 1_000_000n)
  expect(found?.cuts).to.deep.equal([])
  return ms === receivedAt ? undefined : new Date(ms).toISOString()
}
const ms = '2026-11-30T14:40:01.123Z'
const seconds = '2026-11-30T14:40:01.000Z'

describe('the time that a line of text says of itself', () => {
  it('is the whole one at its beginning, where the line tells a level', () => {
    expect(timeOf(`${ms}\tERROR\tpay/pay.go:7\tdeclined`)).to.equal(ms)
    expect(timeOf('2026-11-30T14:40:01Z ERR Cannot start the provider providerName=docker')).to.equal(seconds)
    expect(timeOf('2026-11-30T14:40:01.123456Z 7 [ERROR] [MY-010119] [Server] Aborting')).to.equal(ms)
    expect(timeOf('2026-11-30 14:40:01.123 UTC [7] ERROR:  relation "x" does not exist')).to.equal(ms)
    expect(timeOf('2026-11-30 14:40:01.123 GMT [7] LOG:  checkpoint starting: time')).to.equal(ms)
    expect(timeOf('2026-11-30 15:40:01.123456+01:00 [error] <0.7.0> Channel error')).to.equal(ms)
    expect(timeOf('2026-11-30T14:40:01+0000 error shop.orders: [App] declined')).to.equal(seconds)
    expect(timeOf('2026-11-30 15:40:01.123 +01:00 [ERR] declined')).to.equal(ms)
    expect(timeOf(`time=${ms} level=ERROR msg=declined`)).to.equal(ms)
    expect(timeOf('time="2026-11-30T14:40:01Z" level=error msg="declined"')).to.equal(seconds)
    expect(timeOf(`\u001b[2m${ms}\u001b[0m \u001b[31mERROR\u001b[0m shop::pay: declined`)).to.equal(ms)
  })

  it('is that in brackets, or of a request as nginx and Apache write it', () => {
    expect(timeOf('[2026-11-30T14:40:01Z ERROR shop::pay] declined')).to.equal(seconds)
    expect(timeOf(`[${ms}] "GET / HTTP/1.1" 200 - via_upstream`)).to.equal(ms)
    expect(timeOf('[2026-11-30 14:40:01 +0000] [7] [ERROR] Exception in worker process')).to.equal(seconds)
    expect(timeOf('[30-Nov-2026 14:40:01 UTC] PHP Fatal error:  Uncaught Error')).to.equal(seconds)
    expect(timeOf('shop.test:443 1.2.3.4 - - [30/Nov/2026:15:40:01 +0100] "GET / HTTP/1.1" 500 7')).to.equal(seconds)
    expect(timeOf('1.2.3.4 - ann [30/Nov/2026:15:40:01 +0100] "GET / HTTP/1.1" 500 7 "-" "curl"')).to.equal(seconds)
  })

  it('gives way to any other', () => {
    const log = `${ms} ERROR declined`
    expect(timeOf({ log })).to.equal(ms)
    expect(timeOf({ log, time: receivedAt })).to.equal(undefined)
    expect(timeOf({ log: `${seconds} stderr F ${log}` })).to.equal(seconds)
    expect(timeOf(`<11>${seconds} web-1 shop[7]: ${log}`)).to.equal(seconds)
    expect(timeOf({ level: 'error', message: `${ms} declined` }), 'a level beside it').to.equal(ms)
  })

  it('is none that a logger cannot have written then: one ahead, or of a clock that was never set', () => {
    const ahead = new Date(receivedAt + 2 * 86_400_000).toISOString()
    const others = [
      `[${ahead}] maintenance`,
      `${ahead} ERROR declined`,
      '0001-01-01T00:00:00Z ERROR declined',
      'time=0001-01-01T00:00:00Z level=ERROR msg=declined',
      '1970-01-01T00:00:12Z ERROR declined',
      '[9999-12-31T23:59:59Z] never',
    ]
    expect(others.filter((text) => timeOf(text) !== undefined)).to.deep.equal([])
    const soon = new Date(receivedAt + 3_600_000).toISOString()
    expect(timeOf(`${soon} ERROR of a clock that is ahead`)).to.equal(soon)
    expect(timeOf('2009-11-30T14:40:01Z ERROR of an old file')).to.equal('2009-11-30T14:40:01.000Z')
  })

  it('is none that a program speaks of: a span of time, or nothing else', () => {
    const others = [
      { level: 'info', message: ms },
      { level: 'info', message: `[${ms}]` },
      { level: 'info', message: `[${ms} - 2026-12-01T00:00:00Z] 10 rows` },
      { level: 'info', message: `[${ms} 2026-12-01T00:00:00Z) 10 rows` },
      { level: 'info', message: `${ms} - 2026-12-01T00:00:00Z: 10 rows` },
      { level: 'info', message: `${ms} to 2026-12-01: 10 rows` },
      { level: 'info', message: `${ms} until 2026-12-01T00:00:00Z` },
    ]
    expect(others.filter((record) => timeOf(record) !== undefined)).to.deep.equal([])
  })

  it('is none without a zone, without a level, elsewhere, or where it is no time', () => {
    const others = [
      `${ms} is when the sale ends`,
      '2026-11-30 14:40:01,123 ERROR declined',
      '2026-11-30 14:40:01.123 CET [7] FATAL:  gone',
      '2026-11-30 14:40:01.123 UTCish ERROR: gone',
      '[2026-11-30T14:40:01,123][WARN ][o.e.n.Node] [n] slow',
      '2026-13-30T14:40:01Z ERROR declined',
      '[30-Nov-2026 14:40:01] WARNING: [pool www] busy',
      '[30-Nov-2026 14:40:01 Europe/Berlin] PHP Warning:  x',
      '2026-11-30 14:40:01 +5 ERROR declined',
      `ERROR declined at ${ms}`,
      `ERROR: ${ms} declined`,
      `text=${ms} level=error`,
      '1.2.3.4 - - [30/Nov/2026:14:40:01] "GET / HTTP/1.1" 500',
      'see [30/Nov/2026:14:40:01 +0000] "x"',
      '',
    ]
    expect(others.filter((text) => text !== '' && timeOf(text) !== undefined)).to.deep.equal([])
  })
})
