import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const receivedAt = 1_800_000_000_000
const arrival = BigInt(receivedAt) * 1_000_000n
const time = '2026-11-29T09:46:42.080Z'
const timeNs = BigInt(Date.parse(time)) * 1_000_000n
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'

const ofText = (text: string): LogRecord =>
  decodeLogs(Buffer.from(text), 'text/plain', { receivedAt, limits })[0] as LogRecord
const told = (text: string): readonly unknown[] => {
  const record = ofText(text)
  return [record.message, record.level, record.service, record.timeNs === arrival ? null : record.timeNs]
}
const heroku = (text: string, priority = 190): string => `99 <${priority}>1 ${time} host app web.1 - ${text}`

describe('what is put before a line of text on its way', () => {
  it('tells the time, the program and, where the text tells none, the level', () => {
    expect(told(heroku('paid'))).to.deep.equal(['paid', 'info', 'app', timeNs])
    expect(told(heroku('paid', 131))).to.deep.equal(['paid', 'error', 'app', timeNs])
    expect(told(heroku('State changed', 40))).to.deep.equal(['State changed', null, 'app', timeNs])
    expect(told(heroku('WARN slow'))).to.deep.equal(['WARN slow', 'warn', 'app', timeNs])
    expect(told(heroku('at=error code=H12'))).to.deep.equal(['at=error code=H12', 'error', 'app', timeNs])
    expect(told(`<13>${time} web-1 nginx[7]: up`)).to.deep.equal(['up', 'info', 'nginx', timeNs])
    expect(told(`${time} stderr F failed`)).to.deep.equal(['failed', null, null, timeNs])
  })

  it('is kept by the names that shippers give its parts', () => {
    expect({ ...ofText(heroku('paid')).fields }).to.deep.equal({
      priority: '190',
      timestamp: time,
      hostname: 'host',
      appname: 'app',
      procid: 'web.1',
      message: 'paid',
    })
    expect({ ...ofText(`${time} stdout F up`).fields }).to.deep.equal({ time, stream: 'stdout', message: 'up' })
  })

  it('has a part that is structured, but for Heroku', () => {
    const data = String.raw`[a@1 x="1" y="\]\"b"][b@1 z=""]`
    const { message, fields } = ofText(`<34>1 ${time} web-1 su - ID47 ${data} \uFEFFfailed`)
    expect([message, fields['structured_data'], fields['msgid']]).to.deep.equal(['failed', data, 'ID47'])
    expect(ofText(`<34>1 ${time} web-1 su - ID47 - failed`).message).to.equal('failed')
    expect(ofText(`<34>1 ${time} web-1 su - ID47 -`).message).to.equal('')
    expect(ofText(`<34>1 ${time} web-1 su - ID47 [main] failed`).message).to.equal('[main] failed')
    expect(
      ofText(`<34>1 ${time} host app web.1 ID47 - failed`).message,
      'a program named app on a host named host',
    ).to.equal('failed')
    expect(ofText(heroku('- [a@1 x="1"] paid')).message).to.equal('- [a@1 x="1"] paid')
    const long = `[a@1 x="${'y'.repeat(3_000_000)}"] failed`
    expect(ofText(`<34>1 ${time} web-1 su - ID47 ${long}`).message).to.include('[a@1 x="yyy')
  })

  it('has no year and no zone in RFC 3164: its time dates no record', () => {
    expect(told('<34>Oct 11 22:14:15 web-1 su[7]: failed')).to.deep.equal(['failed', 'fatal', 'su', null])
    expect(told('<134>Oct  1 22:14:15 haproxy[7]: up')).to.deep.equal(['up', 'info', 'haproxy', null])
    expect(told('<13>Oct  1 22:14:15 web-1 shop: ERROR declined')).to.deep.equal([
      'ERROR declined',
      'error',
      'shop',
      null,
    ])
    const { fields, cuts } = ofText('<34>Oct 11 22:14:15 web-1 su[7]: failed')
    expect({ ...fields }).to.deep.equal({
      priority: '34',
      timereported: 'Oct 11 22:14:15',
      hostname: 'web-1',
      appname: 'su',
      procid: '7',
      message: 'failed',
    })
    expect(cuts).to.deep.equal([])
    for (const host of ['2001:db8::1', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1']) {
      const ofHost = ofText(`<34>Oct 11 22:14:15 ${host} sshd[7]: failed`)
      expect(ofHost, host).to.deep.include({ message: 'failed', service: 'sshd' })
      expect(ofHost.fields).to.include({ hostname: host })
    }
    expect(ofText('<34>Oct 11 22:14:15 add: x: failed')).to.deep.include({ message: 'x: failed', service: 'add' })
    const line = JSON.stringify({ level: 'warn', msg: 'slow', trace_id: traceId })
    expect(ofText(`<13>Oct 11 22:14:15 web-1 shop[7]: ${line}`)).to.deep.include({ message: 'slow', level: 'warn', service: 'shop', traceId }) // prettier-ignore
  })

  it('may say the trace', () => {
    expect(ofText(`<34>1 ${time} web-1 shop - - [a@1 trace_id="${traceId}"] paid`).traceId).to.equal(traceId)
  })

  it('holds beside a line of JSON, whose own words count', () => {
    const line = heroku(JSON.stringify({ level: 50, msg: 'declined', time: receivedAt - 1, order: 7 }))
    expect(told(line)).to.deep.equal(['declined', 'error', 'app', arrival - 1_000_000n])
    expect(ofText(line).fields).to.include({ procid: 'web.1', order: 7 }).and.not.to.have.property('message')
    expect(told(heroku('{"msg":"ERROR x"}'))).to.deep.equal(['{"msg":"ERROR x"}', 'info', 'app', timeNs])
    expect(told(heroku('{"level":"constructor","msg":"x'))[1]).to.equal('info')
    expect(ofText(`${time} stdout F {"level":"warn","msg":"slow"}`)).to.deep.include({ message: 'slow', level: 'warn' })
  })

  it('is none where a line merely begins alike', () => {
    for (const text of [
      'up',
      '<b>bold</b>',
      '<190>1',
      `<190>2 ${time} host app web.1 - up`,
      '<34>Oct 11 22:14:15 web-1 failed',
      '<34>Oct 11 22:14:15: failed',
      '<34>Oct 11 22:14:15 web-1 ERROR: failed',
      '<34>Oct 11 22:14:15 warning: failed',
      '<34>Oct 11 22:14:15 fw-1 %ASA-6-302013: Built outbound TCP connection',
      '<34>oct 11 22:14:15 web-1 su[7]: failed',
      'Oct 11 22:14:15 web-1 su[7]: failed',
      'Oct 11 2026 22:14:15 web-1 su[7]: failed',
      `99 ${time} up`,
      'a-word-of-more-than-twenty-letters stdout F up',
      `${time} stdin F up`,
    ]) {
      expect(ofText(text)).to.deep.include({ message: text, service: null, timeNs: arrival, fields: { message: text } })
    }
  })
})
