import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { serviceInText } from '#src/wire/logs/service-in-text.ts'

const ids = 'trace_id=27bb469f0919dc704d7ad3b6017f3297 span_id=5cd99cde5461cef9'
const line = (service: string): string =>
  `2026-11-30 11:03:21,708 WARNING [shop] [fl.py:7] [${ids} resource.service.name=${service} trace_sampled=True] - slow order 7`

describe('the service that a line of text says of itself', () => {
  it('is that of OpenTelemetry for Python, whatever its name', () => {
    expect(serviceInText(line('flask-shop'))).to.equal('flask-shop')
    expect(serviceInText(line('my shop'))).to.equal('my shop')
    expect(serviceInText(line('shop').replace(ids, 'trace_id=0 span_id=0')), 'outside of a span').to.equal('shop')
  })

  it('is none where it has no name, or something else stands there', () => {
    const others = [
      '',
      line(''),
      line(' '),
      line('x'.repeat(129)),
      line('a] [b'),
      'resource.service.name=shop',
      'set resource.service.name=shop and restart',
      `other.resource.service.name=shop trace_sampled=True`,
      `${'x'.repeat(600)} resource.service.name=shop trace_sampled=True`,
    ]
    expect(others.filter((text) => serviceInText(text) !== undefined)).to.deep.equal([])
  })

  it("is that which Datadog's tracers inject, and New Relic's agents add", () => {
    const datadog = 'dd.trace_id=5766297571294423590 dd.span_id=7394261458282936832'
    expect(serviceInText(`INFO [dd.service=shop dd.env=prod dd.version=1 ${datadog}] - paid`)).to.equal('shop')
    expect(serviceInText(`[dd.env= dd.service=billing dd.version= ${datadog} ddsource=ruby] paid`)).to.equal('billing')
    expect(serviceInText(`paid ${datadog} dd.service="my shop" dd.env="prod"`)).to.equal('my shop')
    expect(serviceInText('[dd.service=shop dd.trace_id=0 dd.span_id=0] up'), 'outside of a span').to.equal('shop')
    expect(serviceInText('paid NR-LINKING|MzU|web-1|||my%20shop|')).to.equal('my shop')
    for (const text of [
      `[dd.service= dd.env= ${datadog}] paid`,
      'set dd.service=shop and restart',
      `my.dd.service=shop ${datadog}`,
      `${datadog} ${'x'.repeat(2_048)} dd.service=shop`,
      'paid NR-LINKING|MzU|web-1||||',
      'paid NR-LINKING|MzU|web-1|||my%zzshop|',
      'paid NR-LINKING|MzU|web-1|trace|span|shop|',
      'NR-LINKING| is added by the agent',
    ]) {
      expect(serviceInText(text), text).to.equal(undefined)
    }
  })

  it('is that of a record that names none', () => {
    const serviceOf = (record: unknown): unknown =>
      decodeLogs(Buffer.from(JSON.stringify(record)), 'application/json', { receivedAt: 0, limits })[0]?.service
    expect(serviceOf({ log: line('flask-shop') })).to.equal('flask-shop')
    expect(serviceOf({ log: line('flask-shop'), kubernetes: { container_name: 'web' } })).to.equal('web')
    const datadog = 'dd.trace_id=5766297571294423590 dd.span_id=7394261458282936832'
    const spring = '2026-11-30T14:40:01.123Z  INFO 7 --- [-] [           main] c.e.Shop : up'
    for (const log of [line('-'), `[dd.service=- ${datadog}] paid`, 'paid NR-LINKING|MzU|web-1|||-|', spring])
      expect(serviceOf({ log }), log).to.equal(null)
    expect(serviceOf({ log: line('half \ud800') }), 'no half of a character').to.equal('half \ufffd')
  })
})
