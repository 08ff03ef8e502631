import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const time = '2026-11-29T09:46:42.080Z'
const ofJson = (body: string): LogRecord =>
  decodeLogs(Buffer.from(body), 'application/json', { receivedAt: 0, limits })[0] as LogRecord
const one = (sent: Readonly<Record<string, unknown>>): LogRecord => ofJson(JSON.stringify(sent))

describe('what Serilog writes in a way of its own', () => {
  it('is a template with the properties in their places', () => {
    const message = (template: string, properties = {}): string =>
      one({ '@t': time, '@mt': template, ...properties }).message
    expect(message('{A} {@B} {$C} {D,-5} {0}', { A: 'a', B: { b: 1 }, C: [1], D: true, 0: null })).to.equal(
      'a {"b":1} [1] true null',
    )
    expect(message('{A:0.0} {A} {B:x}', { A: 1.25, B: 2, '@r': ['1.3'] })).to.equal('1.3 1.25 2')
    expect(message('{{A}} {B} {} {a b} {', { A: 1 })).to.equal('{A} {B} {} {a b} {')
    expect(message('{A}', { A: '{B}', B: 7 })).to.equal('{B}')
    expect(message('{A}', { A: 1, message: 'another' })).to.equal('1')
    expect(message('{A}', { A: 1, '@m': 'one' })).to.equal('one')
    expect(message('{A}', { A: 1, '@r': 7 })).to.equal('1')
    expect(ofJson(`{"@t":"${time}","@mt":"{A}","A":9007199254740993}`).message).to.equal('9007199254740993')
  })

  it('names no property that every object has', () => {
    expect(one({ '@t': time, '@mt': '{constructor} {toString} {__proto__}' }).message).to.equal(
      '{constructor} {toString} {__proto__}',
    )
    expect(ofJson(`{"@t":"${time}","@mt":"{__proto__}","__proto__":"own"}`).message).to.equal('own')
  })

  it('is made no longer than so many properties are, however often it names one', () => {
    const { message } = one({ '@t': time, '@mt': '{A}'.repeat(1_000), A: 'x'.repeat(10_000) })
    expect(message.length).to.be.lessThan(70_000)
    expect(message.endsWith('{A}')).to.equal(true)
  })

  it('has no level where it is that of most', () => {
    expect(one({ '@t': time, '@mt': 'ERROR is a word' }).level).to.equal('info')
    expect(one({ '@t': time, '@m': 'x', '@l': 'Fatal' }).level).to.equal('fatal')
    expect(one({ '@t': time, '@m': 'x', '@l': 'none of ours' }).level).to.equal(null)
    expect(one({ '@t': time, text: 'x' }).level).to.equal(null)
  })

  it('names the program as others do to Seq', () => {
    expect(one({ '@t': time, '@m': 'x', Application: 'shop' }).service).to.equal('shop')
    expect(one({ '@t': time, '@m': 'x', '@ra': { service: { name: 'shop' } } }).service).to.equal('shop')
    expect(one({ Application: 'for a job' }).service).to.equal(null)
    const first = { Level: 'Error', MessageTemplate: 'no {Card} in {Shop}', Properties: { ApplicationName: 'shop' } }
    expect(one(first)).to.include({ service: 'shop', message: 'no {Card} in {Shop}', level: 'error' })
    expect(one({ ...first, Properties: { Card: 7, Shop: 'a' } }).message).to.equal('no 7 in a')
    expect(one({ ...first, Properties: 7 }).message).to.equal('no {Card} in {Shop}')
  })
})
