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
  const send = (key: string) =>
    ingest.post('/api/logs/v1/ingest', '{"message":"x"}', {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
    })

  it('is taken when it was made elsewhere a moment ago', async () => {
    const made = createKeySecret('logs', randomBytes)
    ingest.directory.whenBehind(async () => {
      ingest.directory.addKey(ingest.workspace, 'logs', {}, made)
      return true
    })
    expect((await send(made)).status).to.equal(200)
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
