import { expect } from 'chai'
import { parseOtlpContentType } from '#src/wire/otlp/content-type.ts'
import { decodePartialSuccess, encodeStatus, encodeSuccess } from '#src/wire/otlp/reply.ts'

const text = (body: Uint8Array): string => new TextDecoder().decode(body)
const hex = (body: Uint8Array): string => Buffer.from(body).toString('hex')
const utf8Hex = (of: string): string => Buffer.from(of).toString('hex')
const json = 'application/json'
const protobuf = 'application/x-protobuf'

describe('OTLP answers', () => {
  it('leave partial success unset on full success', () => {
    expect(encodeSuccess(protobuf)).to.deep.include({ contentType: protobuf })
    expect(encodeSuccess(protobuf).body).to.have.length(0)
    expect(encodeSuccess(json).contentType).to.equal(json)
    expect(text(encodeSuccess(json).body)).to.equal('{}')
  })

  it('tell how many spans were rejected and why', () => {
    const partial = { rejectedSpans: 300, errorMessage: 'no é' }
    expect(text(encodeSuccess(json, partial).body)).to.equal(
      '{"partialSuccess":{"rejectedSpans":"300","errorMessage":"no é"}}',
    )
    expect(hex(encodeSuccess(protobuf, partial).body)).to.equal(`0a0a08ac021205${utf8Hex('no é')}`)
  })

  it('are read back, and nothing else for one', () => {
    const partial = { rejectedSpans: 3, errorMessage: 'why' }
    expect(decodePartialSuccess(encodeSuccess(protobuf, partial).body)).to.deep.equal(partial)
    // A fixed32, whose bytes make a varint too.
    expect(decodePartialSuccess(Uint8Array.of(0x1d, 0x80, 0x80, 0x80, 0))).to.equal(undefined)
  })

  it('warn with 0 rejected', () => {
    const warning = { rejectedSpans: 0, errorMessage: '80 %' }
    expect(text(encodeSuccess(json, warning).body)).to.equal('{"partialSuccess":{"errorMessage":"80 %"}}')
    expect(hex(encodeSuccess(protobuf, warning).body)).to.equal(`0a061204${utf8Hex('80 %')}`)
  })

  it('carry a Status with the canonical code, the detail, our code and when to try again', () => {
    const refusal = { code: 'overloaded', detail: 'busy', retryAfterS: 2 } as const
    expect(JSON.parse(text(encodeStatus(json, refusal).body))).to.deep.equal({
      code: 14,
      message: 'busy',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'OVERLOADED', domain: 'throughline' },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' },
      ],
    })
    const errorInfo = `0a28${utf8Hex('type.googleapis.com/google.rpc.ErrorInfo')}1219`
    const info = `${errorInfo}0a0a${utf8Hex('OVERLOADED')}120b${utf8Hex('throughline')}`
    const retry = `0a28${utf8Hex('type.googleapis.com/google.rpc.RetryInfo')}12040a020802`
    expect(encodeStatus(protobuf, refusal).contentType).to.equal(protobuf)
    expect(hex(encodeStatus(protobuf, refusal).body)).to.equal(`080e1204${utf8Hex('busy')}1a45${info}1a30${retry}`)
  })

  it('name the feature that an entitlement lacks', () => {
    const refusal = { code: 'entitlement_required', detail: 'no', feature: 'tracing' } as const
    const status = JSON.parse(text(encodeStatus(json, refusal).body)) as { code: number; details: object[] }
    expect(status.code).to.equal(7)
    expect(status.details[0]).to.deep.include({ reason: 'ENTITLEMENT_REQUIRED', metadata: { feature: 'tracing' } })
    expect(status.details).to.have.length(1)
    const entry = `0a07${utf8Hex('feature')}1207${utf8Hex('tracing')}`
    expect(hex(encodeStatus(protobuf, refusal).body)).to.contain(`1a12${entry}`)
  })

  it('give each kind of refusal its code', () => {
    const codeOf = (code: Parameters<typeof encodeStatus>[1]['code']): number =>
      (JSON.parse(text(encodeStatus(json, { code, detail: '' }).body)) as { code: number }).code
    expect(codeOf('invalid_body')).to.equal(3)
    expect(codeOf('missing_credential')).to.equal(16)
    expect(codeOf('wrong_key_kind')).to.equal(7)
    expect(codeOf('not_found')).to.equal(5)
    expect(codeOf('rate_limited')).to.equal(8)
    expect(codeOf('unavailable')).to.equal(14)
    expect(codeOf('body_timeout')).to.equal(4)
    expect(codeOf('method_not_allowed')).to.equal(12)
  })
})

describe('parseOtlpContentType', () => {
  const rows: readonly (readonly [string | undefined, string | undefined])[] = [
    ['application/x-protobuf', protobuf],
    ['Application/X-Protobuf', protobuf],
    ['application/json', json],
    ['application/json; charset=utf-8', json],
    ['application/json;charset="UTF-8"; x=y', json],
    ['application/json; charset=us-ascii', json],
    ['application/json; charset=utf-16', undefined],
    ['application/grpc', undefined],
    ['application/protobuf', undefined],
    ['text/plain', undefined],
    ['', undefined],
    [undefined, undefined],
  ]
  for (const [header, type] of rows) {
    it(`${header ?? 'no header'} is ${type ?? 'no encoding of OTLP'}`, () => {
      expect(parseOtlpContentType(header)).to.equal(type)
    })
  }
})
