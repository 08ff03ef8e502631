import { expect } from 'chai'
import { stringifyJson } from '#src/lib/json.ts'
import {
  bytesField,
  emptySpan,
  encodeSpan,
  fixed64Field,
  message,
  spanJson,
  utf8,
  varintField,
} from '#test/support/otlp.ts'
import { decodeScanned } from './decode-scanned.ts'

type Fields = Parameters<typeof message>[1]
const given = (...fields: Fields): Uint8Array => message('given', fields)

/** One span, of which everything that can has lost something at its sender: each another number. */
const protobuf = (): Uint8Array => {
  const span = Buffer.concat([
    encodeSpan(emptySpan),
    given(
      varintField(10, 1),
      bytesField(11, given(fixed64Field(1, 5n), varintField(4, 2))),
      varintField(12, 3),
      bytesField(13, given(varintField(5, 4))),
      varintField(14, 5),
    ),
  ])
  const scopeSpans = given(bytesField(1, given(varintField(4, 7))), bytesField(2, span))
  return given(bytesField(1, given(bytesField(1, given(varintField(2, 6))), bytesField(2, scopeSpans))))
}
const json = (): Uint8Array => {
  const span = {
    ...spanJson(emptySpan),
    droppedAttributesCount: 1,
    events: [{ timeUnixNano: '5', droppedAttributesCount: 2 }],
    droppedEventsCount: 3,
    links: [{ droppedAttributesCount: 4 }],
    droppedLinksCount: 5,
  }
  const scopeSpans = [{ scope: { droppedAttributesCount: 7 }, spans: [span] }]
  return utf8(stringifyJson({ resourceSpans: [{ resource: { droppedAttributesCount: 6 }, scopeSpans }] }))
}

describe('what a sender says it has dropped', () => {
  for (const [type, body] of [
    ['application/x-protobuf', protobuf()],
    ['application/json', json()],
  ] as const) {
    it(`is kept of spans, their events and links, resources and scopes (${type})`, () => {
      const [span] = decodeScanned(body, type)
      expect([
        span?.droppedAttributesCount,
        span?.spanEvents[0]?.droppedAttributesCount,
        span?.droppedEventsCount,
        span?.links[0]?.droppedAttributesCount,
        span?.droppedLinksCount,
        span?.resource.droppedAttributesCount,
        span?.scope.droppedAttributesCount,
      ]).to.deep.equal([1, 2, 3, 4, 5, 6, 7])
      expect(span?.cuts).to.deep.equal([])
    })
  }
})
