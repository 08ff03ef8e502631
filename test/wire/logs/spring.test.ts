import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const receivedAt = 1_800_000_000_000
const arrival = BigInt(receivedAt) * 1_000_000n
const time = '2026-11-30T14:40:01.123Z'
const [trace, span] = ['803b448a0489f84084905d3093480352', '3425f23bb2432450']
const ids = `[${trace}-${span}] `
const thread = '[nio-8080-exec-1]'
const logger = 'c.e.shop.Orders                         '

const ofText = (text: string): LogRecord =>
  decodeLogs(Buffer.from(text), 'text/plain', { receivedAt, limits })[0] as LogRecord
const ofRecord = (record: unknown): LogRecord =>
  decodeLogs(Buffer.from(JSON.stringify(record)), 'application/json', { receivedAt, limits })[0] as LogRecord
const told = ({ message, level, service, traceId, timeNs: at }: LogRecord): readonly unknown[] => [
  message,
  level,
  service,
  traceId,
  at === arrival ? null : at,
]
const line = (brackets: string, before = `${time} ERROR 7 --- `): string => `${before}${brackets}${logger} : declined`

describe('a line of Spring Boot', () => {
  it('tells the application and the message, and is of the time at which it arrived', () => {
    expect(told(ofText(line(`[shop] ${thread} ${ids}`)))).to.deep.equal(['declined', 'error', 'shop', trace, null])
    expect(told(ofText(line(`[shop] [pay] ${thread} ${ids}`)))).to.deep.equal(['declined', 'error', 'shop', trace, null]) // prettier-ignore
    expect(told(ofText(line(`[shop] ${thread} [${' '.repeat(49)}] `)))).to.deep.equal(['declined', 'error', 'shop', null, null]) // prettier-ignore
    expect(told(ofText(line(`[shop] ${thread} `)))).to.deep.equal(['declined', 'error', 'shop', null, null])
    expect(told(ofText(line(`[shop] [main] ${ids}`))), 'of a file').to.deep.equal(['declined', 'error', 'shop', trace, null]) // prettier-ignore
    expect(told(ofText(line(`${thread} `)))).to.deep.equal(['declined', 'error', null, null, null])
    expect(told(ofText(line(`${thread} ${ids}`)))).to.deep.equal(['declined', 'error', null, trace, null])
  })

  it('may have the ids as Sleuth and its guides put them', () => {
    const sleuth = `${time} ERROR [shop,${trace},${span}] 7 --- `
    expect(told(ofText(line(`${thread} `, sleuth)))).to.deep.equal(['declined', 'error', 'shop', trace, null])
    expect(told(ofText(line(`${thread} [shop,${trace},${span}] `)))).to.deep.equal(['declined', 'error', 'shop', trace, null]) // prettier-ignore
    expect(ofText(line(`${thread} `, `${time} ERROR [shop,,] 7 --- `)).service).to.equal('shop')
    expect(ofText(line(`${thread} `, `${time} ERROR [,,] 7 --- `)).service).to.equal(null)
    expect(ofText(line(`${thread} `, `${time} ERROR [a,b,c] 7 --- `)).service).to.equal(null)
  })

  it('has its parts as fields, without colours', () => {
    const coloured = `\u001b[2m${time}\u001b[0;39m \u001b[32m INFO\u001b[0;39m \u001b[35m7\u001b[0;39m \u001b[2m--- [shop] [           main]\u001b[0;39m \u001b[36m${logger}\u001b[0;39m \u001b[2m:\u001b[0;39m started` // prettier-ignore
    expect({ ...ofText(coloured).fields }).to.deep.equal({
      timereported: time,
      level: 'INFO',
      application: 'shop',
      pid: '7',
      thread: 'main',
      logger: 'c.e.shop.Orders',
      message: 'started',
    })
    expect(told(ofText(coloured))).to.deep.equal(['started', 'info', 'shop', null, null])
    expect(ofText(`${time}  INFO 7 --- [  main] o.a.c.c.C.[Tomcat].[localhost].[/]       : up`).message).to.equal('up')
    expect(ofText(`${time}  INFO 7 --- [  main] ${logger} :`).message, 'of nothing').to.equal('')
  })

  it('is read of Spring Boot 2, which has no zone', () => {
    const record = ofText('2026-11-30 14:40:01.123  WARN 7 --- [           main] c.e.shop.Orders : slow')
    expect(told(record)).to.deep.equal(['slow', 'warn', null, null, null])
    expect(record.fields).to.include({ timereported: '2026-11-30 14:40:01.123' })
    expect(record.cuts).to.deep.equal([])
  })

  it('is read of a record whose shipper has not taken it apart, and which stays as it is', () => {
    const log = line(`[shop] ${thread} ${ids}`)
    expect(told(ofRecord({ log }))).to.deep.equal(['declined', 'error', 'shop', trace, null])
    expect({ ...ofRecord({ log }).fields }).to.deep.equal({ log })
    expect(told(ofRecord({ log: `${time} stdout F ${log}` }))[0]).to.equal('declined')
    expect(told(ofRecord({ log, time: receivedAt, service: 'web' }))).to.deep.equal(['declined', 'error', 'web', trace, null]) // prettier-ignore
    const trail = `${log}\njava.lang.IllegalStateException: closed\n\tat shop.Orders`
    expect(ofRecord({ log: trail }).message).to.equal('declined\njava.lang.IllegalStateException: closed\n\tat shop.Orders') // prettier-ignore
  })

  it('names no application where the first in brackets may be the thread', () => {
    for (const brackets of [
      `${thread} [7f1f0b3e-1111-4222-8333-444455556666] `,
      `${thread} [request=12345678] `,
      '[main] [request-7] ',
      `[main] [request=7] ${thread} [a] `,
    ]) {
      expect(ofText(line(brackets)), brackets).to.deep.include({ message: 'declined', service: null, timeNs: arrival })
    }
  })

  it('is none where a line merely looks alike', () => {
    for (const text of [
      `${time} ERROR 7 --- declined`,
      `${time} ERROR 7 -- [main] ${logger} : declined`,
      `${time} 7 --- [main] ${logger} : declined`,
      `the line ${line(`[shop] ${thread} `)}`,
      `${time} ERROR 7 --- [main] two words : declined`,
      `${time} ERROR 7 --- [main] ${logger} - declined`,
      '--- [main] a : b',
    ]) {
      expect(ofText(text), text).to.deep.include({ message: text, service: null, fields: { message: text } })
    }
  })
})
