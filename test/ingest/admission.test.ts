import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import { plans } from '#src/config.ts'
import { createKeySecret } from '#src/directory/keys.ts'
import { present } from '#src/lib/assert.ts'
import { startIngest, type TestIngest } from '#test/support/ingest.ts'

describe('a key that this process does not know, or not all of', () => {
  let ingest: TestIngest
  let asked: number
  beforeEach(async () => {
    ingest = await startIngest()
    asked = 0
  })
  afterEach(() => ingest.server.close())
  const whenBehind = (catchUp: () => boolean): void =>
    ingest.directory.whenBehind(async () => {
      asked++
      return catchUp()
    })
  const sendWith = (headers: Readonly<Record<string, string>>) =>
    ingest.post('/api/logs/v1/ingest', '{"message":"x"}', { 'content-type': 'application/json', ...headers })
  const send = (key: string) => sendWith({ authorization: `Bearer ${key}` })

  it('is taken when it was made elsewhere a moment ago', async () => {
    for (const headersOf of [
      (key: string) => ({ authorization: `Bearer ${key}` }),
      (key: string) => ({ authorization: `Basic ${btoa('proxy:password')}`, 'x-api-key': key }),
    ]) {
      const made = createKeySecret('logs', randomBytes)
      ingest.directory.whenBehind(async () => {
        ingest.directory.addKey(ingest.workspace, 'logs', {}, made)
        return true
      })
      expect((await sendWith(headersOf(made))).status).to.equal(200)
    }
  })

  it('is refused for good only when the directory is known to hold it nowhere', async () => {
    const unknown = createKeySecret('logs', randomBytes)
    whenBehind(() => true)
    expect((await send(unknown)).json).to.include({ status: 401, code: 'invalid_credential' })
    whenBehind(() => false)
    const answer = await send(unknown)
    expect(answer.json).to.include({ status: 503, code: 'unavailable' })
    expect(Number(answer.headers.get('retry-after'))).to.be.within(1, 4)
    expect(asked).to.equal(2)
  })

  it('may do what its plan was given elsewhere a moment ago', async () => {
    await ingest.server.close()
    ingest = await startIngest({ plan: { features: [] } })
    expect((await send(ingest.keys.logs)).json).to.include({ status: 403, code: 'entitlement_required' })
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', present(plans['pro'], 'a plan with logs'))
      return true
    })
    expect((await send(ingest.keys.logs)).status).to.equal(200)
  })

  it('is refused without a look when it can be none, or has been revoked', async () => {
    whenBehind(() => false)
    for (const key of ['lt_garbled', `${createKeySecret('logs', randomBytes).slice(0, -1)}!`]) {
      expect((await send(key)).json).to.include({ status: 401, code: 'invalid_credential' })
    }
    ingest.directory.revoke(ingest.keys.logs)
    expect((await send(ingest.keys.logs)).json).to.include({ status: 401, code: 'revoked_credential' })
    expect((await send(ingest.keys.tracing)).json).to.include({ status: 403, code: 'wrong_key_kind' })
    expect(asked).to.equal(0)
  })
})

describe('what a plan would refuse for good', () => {
  let ingest: TestIngest
  afterEach(() => ingest.server.close())
  const json = { 'content-type': 'application/json' }
  const ids = (count: number): readonly object[] =>
    Array.from({ length: count }, (_none, index) => ({
      traceId: '1'.repeat(32),
      spanId: `${index + 1}`.padStart(16, '0'),
    }))
  const traces = (count: number): string => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: ids(count) }] }] })
  const sendSpans = (count: number) =>
    ingest.post('/api/traces/v1/otlp', traces(count), { ...json, authorization: `Bearer ${ingest.keys.tracing}` })
  const sendPage = (body: object) =>
    ingest.post('/api/rum/v1/ingest', JSON.stringify(body), { ...json, 'x-api-key': ingest.keys.publishable })
  const page = { meta: {}, logs: [{ message: 'a' }], traces: JSON.parse(traces(1)) as object, events: [{ name: 'b' }] }

  it('is asked of the log first: spans beyond an allowance that was raised elsewhere are taken', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 5 } })
    const pro = { ...present(plans['pro'], 'a plan'), spansPerMonth: 20 }
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', pro)
      return true
    })
    expect((await sendSpans(8)).json).to.deep.equal({})
    expect((await ingest.events()).map(({ counts }) => counts.spans)).to.deep.equal([8])
    const partial = (await sendSpans(13)).json as { partialSuccess: { rejectedSpans: string; errorMessage: string } }
    expect(Number(partial.partialSuccess.rejectedSpans)).to.equal(1)
    expect(partial.partialSuccess.errorMessage).to.include('allowance of 20 is used up')
  })

  it('is asked for once: what the allowance has no room for is rejected as before', async () => {
    let asked = 0
    ingest = await startIngest({ plan: { spansPerMonth: 5 } })
    ingest.directory.whenBehind(async () => ++asked > 0)
    const partial = (await sendSpans(8)).json as { partialSuccess: { rejectedSpans: string } }
    expect(Number(partial.partialSuccess.rejectedSpans)).to.equal(3)
    expect(asked).to.equal(1)
    expect((await sendSpans(8)).json).to.deep.equal(partial)
    expect(asked, 'of a retry').to.equal(1)
  })

  it('is refused with 503, and nothing is lost, where the log cannot be asked', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 5, features: ['tracing'] } })
    ingest.directory.whenBehind(async () => false)
    expect((await sendSpans(8)).status).to.equal(503)
    expect((await sendPage(page)).status).to.equal(503)
    expect(await ingest.events()).to.deep.equal([])
    // What was held for the refused is free again.
    await sendSpans(5)
    expect((await ingest.events()).map(({ counts }) => counts.spans)).to.deep.equal([5])
  })

  it('is not rejected while another process may still give it back: the sender is asked to come again in a second', async () => {
    ingest = await startIngest({ plan: { spansPerMonth: 10 }, limits: { heldSpansPollsMax: 1, heldSpansPollMs: 1 } })
    const other = ingest.otherProcess()
    const held = await other.reserve({ workspaceId: ingest.workspace, spans: 6, limit: 10, at: ingest.now.ms })
    const answer = await sendSpans(5)
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1'])
    const { code, details } = answer.json as { code: number; details: readonly object[] }
    expect(code).to.equal(14)
    expect(details.at(-1)).to.deep.equal({ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' })
    expect(await ingest.events()).to.deep.equal([])
    if (held !== 'pending') other.release(held)
    await other.close()
    expect((await sendSpans(5)).json).to.deep.equal({})
  })

  it('is asked of the log also for exceptions alone, which are logs', async () => {
    ingest = await startIngest({ plan: { features: ['tracing'] } })
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', present(plans['pro'], 'a plan'))
      return true
    })
    const exceptions = [{ type: 'Error', value: 'boom', timestamp: '2026-11-21T12:00:00.000Z' }]
    expect((await sendPage({ meta: {}, exceptions })).json).to.deep.equal({ accepted: 1, rejected: 0 })
  })

  it('is asked of the log also for spans alone', async () => {
    ingest = await startIngest({ plan: { features: ['logs'] } })
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', present(plans['pro'], 'a plan'))
      return true
    })
    expect((await sendPage({ meta: {}, traces: page.traces })).json).to.deep.equal({ accepted: 1, rejected: 0 })
  })

  it('is asked of the log also for parts of what a browser sends', async () => {
    ingest = await startIngest({ plan: { features: [] } })
    expect((await sendPage(page)).json).to.deep.equal({ accepted: 1, rejected: 2 })
    ingest.directory.whenBehind(async () => {
      ingest.directory.setPlan('acme', present(plans['pro'], 'a plan with all features'))
      return true
    })
    expect((await sendPage({ ...page, events: [] })).json).to.deep.equal({ accepted: 2, rejected: 0 })
  })
})
