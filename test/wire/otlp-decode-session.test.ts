import { expect } from 'chai'
import type { Span } from '#src/events/telemetry.ts'
import { type Bag, emptySpan, requestOf } from '#test/support/otlp.ts'
import { encodings } from './decode-scanned.ts'

for (const { name, decode } of encodings) {
  describe(`decodeSpans ${name}: services and sessions`, () => {
    it('finds the service and the session', () => {
      const own = (attributes: Bag, resource: Bag): Span | undefined =>
        decode(requestOf([{ ...emptySpan, attributes }]).map((of) => ({ ...of, attributes: resource })))[0]
      const session = (id: string): Bag => [['session.id', { string: id }]]
      expect(own([], [])).to.deep.include({ service: 'unknown_service', sessionId: null })
      expect(own(session(''), [['service.name', { string: '' }]])).to.deep.include({
        service: 'unknown_service',
        sessionId: null,
      })
      expect(own([], session('of the resource'))?.sessionId).to.equal('of the resource')
      expect(own(session('of the span'), session('of the resource'))?.sessionId).to.equal('of the span')
      expect(own([['session.id', { int: 42n }]], [])?.sessionId).to.equal('42')
      expect(own(session('s'.repeat(128)), [])?.sessionId).to.equal('s'.repeat(128))
      expect(own(session('s'.repeat(129)), session('of the resource'))?.sessionId).to.equal('of the resource')
      expect(own(session('s'.repeat(129)), [])?.sessionId).to.equal(null)
      const named = (name: string): Bag => [[name, { string: name }]]
      // As HyperDX's and Splunk's SDKs for pages call it.
      expect(own([], named('rum.sessionId'))?.sessionId).to.equal('rum.sessionId')
      expect(own(named('splunk.rumSessionId'), [])?.sessionId).to.equal('splunk.rumSessionId')
      expect(own(named('rum.sessionId'), session('of the resource'))?.sessionId).to.equal('of the resource')
    })

    it('finds the session as SDKs for language models call it', () => {
      const named = (name: string): Bag => [[name, { string: name }]]
      const conversations = [
        'gen_ai.conversation.id',
        'traceloop.association.properties.session_id',
        'lmnr.association.properties.session_id',
        'langsmith.metadata.session_id',
        'langsmith.metadata.thread_id',
      ]
      // Of LangSmith, this is a project.
      const of = [...conversations, 'langsmith.trace.session_id'].map(named)
      const both = of.map((bag): Bag => [...bag, ['session.id', { string: 'of the page' }]])
      const found = decode(requestOf([...of, ...both].map((attributes) => ({ ...emptySpan, attributes }))))
      expect(found.map(({ sessionId }) => sessionId)).to.deep.equal([
        ...conversations,
        null,
        ...both.map(() => 'of the page'),
      ])
    })

    it('has no session of blanks alone', () => {
      const of = (id: string): Bag => [['session.id', { string: id }]]
      const spans = decode(requestOf([of('  '), of(''), of(' a')].map((attributes) => ({ ...emptySpan, attributes }))))
      expect(spans.map(({ sessionId }) => sessionId)).to.deep.equal([null, null, ' a'])
    })
  })
}
