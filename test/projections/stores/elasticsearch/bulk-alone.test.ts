import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Json } from '#src/lib/json.ts'
import { writeAll, type NoPrimaryError, type Operation } from '#projections/stores/elasticsearch/bulk.ts'
import type { Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { acme, epoch } from '#test/support/index-fixture.ts'
import { rejection } from '#test/support/read-all.ts'

describe('documents that are written to Elasticsearch', () => {
  const none = async (): Promise<void> => undefined
  const operation = (key: string): Operation => {
    return { kind: 'index', index: 'lines-1', key, workspaceId: acme, position: 1, document: '{}' }
  }
  /** So large that it has a request of its own. */
  const large = (key: string): Operation => ({ ...operation(key), document: `"${'x'.repeat(1_500_000)}"` })
  /** Keys of the documents in each request, where the items are answered so. */
  const requestsFor = async (answers: readonly (readonly number[])[]): Promise<readonly (readonly string[])[]> => {
    const requests: (readonly string[])[] = []
    const elasticsearch = answering(({ lines }) => {
      requests.push(Array.from(String(lines).matchAll(/"_id":"(\w+)"/g), ([, key = '']) => key))
      const items = (answers[requests.length - 1] ?? []).map((status): Json => ({ index: { status } }))
      return { errors: true, items }
    })
    await writeAll({ elasticsearch, epoch, restore: none, pause: none }, ['a', 'b', 'c', 'd'].map(operation))
    return requests
  }

  it('are sent again where there was no room for them, or no shard, and no others are', async () => {
    const requests = await requestsFor([[429, 201, 503, 201], [201, 404], [201]])
    expect(requests).to.deep.equal([['a', 'b', 'c', 'd'], ['a', 'c'], ['c']])
  })

  it('are deleted where there are none, too', async () => {
    const requests: string[] = []
    const elasticsearch = answering(({ lines }) => {
      requests.push(String(lines))
      if (requests.length > 1) return { errors: false }
      return { errors: true, items: [{ index: { status: 429 } }, { delete: { status: 404 } }] }
    })
    const deletion: Operation = { ...operation('b'), kind: 'delete', document: '' }
    await writeAll({ elasticsearch, epoch, restore: none, pause: none }, [operation('a'), deletion])
    expect(requests.map((lines) => lines.includes('"_id":"b"'))).to.deep.equal([true, false])
  })

  it('of a request that failed may still be on the way: no other takes its bytes for its own', async () => {
    const bodies: Buffer[] = []
    const send: Elasticsearch['send'] = async ({ lines }) => {
      if (bodies.push(lines as Buffer) === 1) throw new Error('not answered in time')
      return { status: 200, body: { errors: false } }
    }
    const elasticsearch = { send, close: none }
    const write = (key: string) => writeAll({ elasticsearch, epoch, restore: none }, [operation(key)])
    expect((await rejection(write('a'))).message).to.equal('not answered in time')
    for (let times = 0; times < 3; times++) await write('b')
    expect(bodies[0]?.toString()).to.include('"_id":"a"')
  })

  it('are under way no more when it is told that some of them have failed', async () => {
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let requests = 0
    const send: Elasticsearch['send'] = async () => {
      if (++requests === 1) throw new Error('the first request failed')
      asked.resolve()
      await answered.promise
      return { status: 200, body: { errors: false } }
    }
    let isTold = false
    const all = ['a', 'b', 'c'].map(large)
    const written = rejection(writeAll({ elasticsearch: { send, close: none }, epoch, restore: none }, all))
    const told = written.then(() => (isTold = true))
    await asked.promise
    await turn()
    expect(isTold).to.equal(false)
    answered.resolve()
    await told
    expect(requests, 'of what was not sent yet, nothing is').to.equal(2)
  })

  it('are all sent again where there was no room for the request', async () => {
    const bodies: string[] = []
    const send: Elasticsearch['send'] = async ({ lines }) => {
      const error = { type: 'circuit_breaking_exception', reason: 'Data too large' }
      const status = [429, 503][bodies.push(String(lines)) - 1]
      return status === undefined ? { status: 200, body: { errors: false } } : { status, body: { error } }
    }
    const elasticsearch = { send, close: none }
    await writeAll({ elasticsearch, epoch, restore: none, pause: none }, ['a', 'b'].map(operation))
    expect(bodies).to.deep.equal(Array.from({ length: 3 }, () => bodies[0]))
    expect(bodies[0]).to.include('"_id":"b"')
  })

  it('are given up after a few tries, each after a longer pause', async () => {
    const pauses: number[] = []
    const elasticsearch = answering(() => ({ errors: true, items: [{ index: { status: 429 } }] }))
    const pause = async (ms: number) => pauses.push(ms)
    const written = writeAll({ elasticsearch, epoch, restore: none, pause }, [operation('a')])
    expect((await rejection(written)).name).to.equal('TransientError')
    expect(pauses).to.deep.equal([100, 200, 400, 800, 1_600])
  })

  it('are told with all indices that have no primary shard, whichever request met them', async () => {
    const error = { type: 'unavailable_shards_exception' }
    const elasticsearch = answering(() => ({ errors: true, items: [{ index: { status: 503, error } }] }))
    const written = writeAll(
      { elasticsearch, epoch, restore: none },
      ['a', 'b'].map((key) => ({ ...large(key), index: `lines-${key}` })),
    )
    const { indices } = (await rejection(written)) as NoPrimaryError
    expect([...indices]).to.have.members(['lines-a', 'lines-b'])
  })
})
