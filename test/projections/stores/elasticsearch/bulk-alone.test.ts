import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { Json, JsonObject } from '#src/lib/json.ts'
import {
  createWriteBuffer,
  writeAll,
  type NoPrimaryError,
  type Operation,
} from '#projections/stores/elasticsearch/bulk.ts'
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
  /** The answer to a request of which all is in. */
  const allIn = (lines: unknown): JsonObject => {
    const count = String(lines).match(/^\{"(index|delete)":/gm)?.length ?? 0
    return { errors: false, items: Array.from({ length: count }, () => ({ index: { status: 201 } })) }
  }
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

  it('are in where they take the place of older ones', async () => {
    expect(await requestsFor([[200, 429, 201, 200], [200]])).to.deep.equal([['a', 'b', 'c', 'd'], ['b']])
  })

  it('are each whole in one request, of 4 MiB but for one that is larger alone', async () => {
    const bodies: string[] = []
    const elasticsearch = answering(({ lines }) => {
      bodies.push(String(lines))
      return allIn(lines)
    })
    const huge = { ...operation('huge'), document: `"${'y'.repeat(5_000_000)}"` }
    const operations = [large('a'), large('b'), large('c'), huge, large('d'), operation('e')]
    await writeAll({ elasticsearch, epoch, restore: none }, operations)
    const documents = bodies.flatMap((body) => body.split('\n').filter((line) => line !== '' && !line.startsWith('{"')))
    expect(documents.toSorted()).to.deep.equal(operations.map(({ document }) => document).toSorted())
    const sizes = bodies.map((body) => Buffer.byteLength(body)).sort((a, b) => a - b)
    expect(sizes.filter((size) => size > 4 * 1024 * 1024)).to.have.length(1)
  })

  it('are written a thousand at a time from a buffer, and the rest of them, be it one, in the end', async () => {
    const written: number[] = []
    const { add, flush } = createWriteBuffer(async ({ length }) => void written.push(length))
    for (let count = 0; count < 2_001; count++) await add(operation(`key${count}`))
    expect(written).to.deep.equal([1_000, 1_000])
    for (let times = 0; times < 2; times++) await flush()
    expect(written).to.deep.equal([1_000, 1_000, 1])
  })

  it('are deleted where there are none, too', async () => {
    const requests: string[] = []
    const elasticsearch = answering(({ lines }) => {
      requests.push(String(lines))
      if (requests.length > 1) return allIn(lines)
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
      return { status: 200, body: allIn(lines) }
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

  it('are not sent where one of their request cannot be made', async () => {
    const requests: string[] = []
    const elasticsearch = answering(({ lines }) => {
      requests.push(String(lines))
      return { errors: false }
    })
    function* failing(): Generator<Operation, void, undefined> {
      yield* ['a', 'b'].map(operation)
      throw new TypeError('undefined is not a word')
    }
    const failure = await rejection(writeAll({ elasticsearch, epoch, restore: none }, failing()))
    expect(failure.message).to.equal('undefined is not a word')
    expect(requests).to.deep.equal([])
  })

  it('are all sent again where there was no room for the request', async () => {
    const bodies: string[] = []
    const send: Elasticsearch['send'] = async ({ lines }) => {
      const error = { type: 'circuit_breaking_exception', reason: 'Data too large' }
      const status = [429, 503][bodies.push(String(lines)) - 1]
      return status === undefined ? { status: 200, body: allIn(lines) } : { status, body: { error } }
    }
    const elasticsearch = { send, close: none }
    await writeAll({ elasticsearch, epoch, restore: none, pause: none }, ['a', 'b'].map(operation))
    expect(bodies).to.deep.equal(Array.from({ length: 3 }, () => bodies[0]))
    expect(bodies[0]).to.include('"_id":"b"')
  })

  it('are not in where the answer is about fewer of them, as where the request was cut on its way', async () => {
    const elasticsearch = answering(() => ({ errors: false, items: [{ index: { status: 201 } }] }))
    const written = writeAll({ elasticsearch, epoch, restore: none }, ['a', 'b'].map(operation))
    expect(String(await rejection(written))).to.equal(
      'TransientError: write to Elasticsearch 2 documents (the answer is about 1 of them: look at what stands before it)',
    )
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

  describe('that one of them does not take', () => {
    /** What becomes of two of one index; `items`: how both are answered at first. */
    const writeTwo = async (items: readonly Json[], stored: readonly Json[] = []) => {
      const asked: string[] = []
      const restored: string[] = []
      const elasticsearch = answering(({ path, lines }) => {
        if (path === '/_mget') return { docs: stored }
        asked.push(Array.from(String(lines).matchAll(/"_id":"(\w+)"/g), ([, key = '']) => key).join(''))
        if (asked.length > 1) return allIn(lines)
        return { errors: true, items: items.map((index) => ({ index })) }
      })
      const restore = async (index: string): Promise<void> => void restored.push(index)
      const operations = ['a', 'b'].map((key) => ({ ...operation(key), position: 5 }))
      const written = writeAll({ elasticsearch, epoch, restore, pause: none }, operations)
      const failure = await written.then(() => '', String)
      return { asked, restored, failure }
    }
    const ofType = (status: number, type: string, reason = '') => ({ status, error: { type, reason } })

    it('are there where what is stored is as new, or newer, and of the same log; and where a later event has removed it', async () => {
      const found = (version: number, of: string): Json => ({
        found: true,
        _version: version,
        _source: { e: of, p: version },
      })
      const conflict = { status: 409 }
      const foreign = /^PermanentError: write b of lines-1 at 5 .*another log's document is in its place/
      for (const [stored, failure] of [
        [found(5, epoch), /^$/],
        [found(6, epoch), /^$/],
        [{ found: false }, /^$/],
        [found(9, 'epoch-2'), foreign],
      ] as const) {
        const written = await writeTwo([conflict, conflict], [found(5, epoch), stored])
        expect(written.failure, JSON.stringify(stored)).to.match(failure)
        expect(written.asked).to.deep.equal(['ab'])
      }
    })

    it('are sent again where the copy that is asked is older, as before it has what a first request brought', async () => {
      const behind: Json = { found: true, _version: 4, _source: { e: epoch } }
      const conflict = { status: 409 }
      expect(await writeTwo([conflict, { status: 201 }], [behind])).to.include({ failure: '' })
      const elasticsearch = answering(({ path }) =>
        path === '/_mget' ? { docs: [behind] } : { errors: true, items: [{ index: conflict }] },
      )
      const newer = { ...operation('a'), position: 5 }
      const written = rejection(writeAll({ elasticsearch, epoch, restore: none, pause: none }, [newer]))
      expect(String(await written)).to.match(/^TransientError: write a of lines-1 at 5 .*copy/)
    })

    it('have their index made anew where it was dropped, once for all in it, and are written then', async () => {
      const gone = ofType(404, 'index_not_found_exception', 'no such index [lines-1]')
      expect(await writeTwo([gone, gone])).to.deep.equal({ asked: ['ab', 'ab'], restored: ['lines-1'], failure: '' })
      const shard = ofType(404, 'shard_not_found_exception')
      expect(await writeTwo([shard, { status: 201 }])).to.deep.equal({ asked: ['ab', 'a'], restored: [], failure: '' })
    })

    it('are sent again while a block is there, which may be lifted, and are refused where a right is missing', async () => {
      const blocked = ofType(403, 'cluster_block_exception', 'index [lines-1] blocked by: [read-only]')
      expect(await writeTwo([{ status: 201 }, blocked])).to.include({ failure: '' })
      const { asked, failure } = await writeTwo([{ status: 201 }, ofType(403, 'security_exception')])
      expect(failure).to.match(/^TransientError: index b of lines-1 at 5: .*lacks a right/)
      expect(asked).to.deep.equal(['ab'])
      const closed = await writeTwo([{ status: 201 }, ofType(400, 'index_closed_exception')])
      expect(closed.failure).to.match(/^TransientError: write to lines-1 .*open it again/)
    })

    it('are told in the end with what keeps them from being written', async () => {
      for (const [error, told] of [
        [ofType(403, 'cluster_block_exception', 'index [lines-1] blocked'), /it is blocked: make room/],
        [ofType(404, 'index_not_found_exception', 'no such index'), /it has no room.*index_not_found_exception/],
      ] as const) {
        const elasticsearch = answering(() => ({ errors: true, items: [{ index: error }] }))
        const written = writeAll({ elasticsearch, epoch, restore: none, pause: none }, [operation('a')])
        const { message, cause } = await rejection(written)
        expect(`${message} ${String(cause)}`).to.match(told)
      }
    })
  })
})
