import { createServer } from 'node:net'
import { expect } from 'chai'
import { connect, headers, type Msg } from 'nats'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Headers, Nats, Received } from '#streams/jetstream/nats.ts'
import { firstOf } from '#streams/jetstream/cut.ts'
import type { MessageSource } from '#streams/jetstream/message-source.ts'
import { createLeaseBoard } from '#streams/jetstream/lease-board.ts'
import { createOfLeader } from '#streams/jetstream/of-leader.ts'
import { createPublisher } from '#streams/jetstream/publish.ts'
import type { Run } from '#streams/jetstream/stored.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { readBytesMax } from '#streams/stream.ts'
import { makeEvent } from '../support/make-event.ts'
import { startPlainNats } from './plain-nats.ts'
import { rejection } from '../support/read-all.ts'

const receivedOf = (answer: object): Received => ({
  code: 0,
  data: Buffer.from(JSON.stringify(answer)),
  header: () => '',
})

/** Answers what is asked of it, each with the next of these, and the last for ever; and notes the batch of each request. */
function answering(answers: readonly object[], batches: string[] = []): Nats {
  const left = [...answers]
  const next = (): object => (left.length > 1 ? left.shift() : left[0]) ?? {}
  const request = async (_subject: string, _data: unknown, fields: Headers = {}): Promise<Received> => {
    batches.push(fields['Nats-Batch-Id'] ?? '')
    return receivedOf(next())
  }
  return { payloadBytesMax: () => 5_000, request, publish: () => undefined } as unknown as Nats
}

const refusal = (code: number, description: string) => ({ error: { code: 400, err_code: code, description } })

describe('an event of several messages', () => {
  const message = { subject: 'log.a', data: Buffer.alloc(3_000) }
  const publish = (nats: Nats) => createPublisher(nats, 'stream LOG', async () => undefined).publish([message])

  it('is sent again when its first messages went to a leader that is gone', async () => {
    const batches: string[] = []
    const nats = answering([refusal(10_176, 'atomic publish batch is incomplete'), { seq: 9 }], batches)
    expect(await publish(nats)).to.deep.equal({ kind: 'stored', sequences: [9] })
    expect(batches).to.have.length(2)
    expect(batches[0]).to.not.equal(batches[1])
  })

  it('is refused for the moment when its first messages are never there, as on a full disk, and says so', async () => {
    const failure = await rejection(publish(answering([refusal(10_176, 'atomic publish batch is incomplete')])))
    expect(failure).to.be.instanceOf(TransientError)
    expect(failure.message).to.match(
      /its leader is changing; if it lasts, the disk of NATS may be full, see \/healthz there/,
    )
  })

  it('is refused for good where the server takes fewer messages in one step', async () => {
    const failure = await rejection(publish(answering([refusal(10_199, 'atomic publish batch is too large: 1')])))
    expect(failure).to.be.instanceOf(PermanentError)
  })
})

describe('an event that nobody takes', () => {
  const nobody = {
    payloadBytesMax: () => 5_000,
    request: async (): Promise<Received> => ({ code: 503, data: new Uint8Array(), header: () => '' }),
  } as unknown as Nats
  const publish = (explain: () => Promise<unknown>) =>
    createPublisher(nobody, 'stream LOG', explain).publish([{ subject: 'log.a', data: Buffer.alloc(10) }])

  it('is refused with the reason', async () => {
    const reason = new PermanentError({ operation: 'look at', subject: 'stream LOG' })
    expect(await rejection(publish(() => Promise.reject(reason)))).to.equal(reason)
  })

  it('is refused at once while no server leads, and so none tells a reason', async () => {
    const failure = await rejection(publish(() => new Promise(() => undefined)))
    expect(failure).to.be.instanceOf(TransientError)
    expect(failure.message).to.match(/^append to stream LOG \(no server leads it now: .*\)$/)
  })
})

/** While another message that expects something of the subject is being replicated. */
const notNow = refusal(10_164, 'wrong last sequence')

describe('an event that is to follow another', () => {
  const message = { subject: 'log.a', data: Buffer.alloc(10), expected: { subject: 'log.a', sequence: 8 } }
  const publish = (answers: readonly object[]) =>
    createPublisher(answering(answers), 'stream LOG', async () => undefined).publish([message])

  it('is sent again while the server cannot tell whether it does', async () => {
    expect(await publish([notNow, notNow, { seq: 9 }])).to.deep.equal({ kind: 'stored', sequences: [9] })
    expect(await publish([notNow, refusal(10_071, 'wrong last sequence: 8')])).to.deep.equal({ kind: 'conflict' })
  })
})

describe('a lease that several ask for at once', () => {
  it('is not had by whom the server turns away while it stores another’s', async () => {
    const [made, free] = [{}, refusal(10_037, 'no message found')]
    const nats = answering([made, free, notNow, notNow, { message: { data: '', seq: 7 } }])
    const board = await createLeaseBoard({ nats, prefix: 't', ttlMs: 1_000, replicas: 3 })
    expect(await board.take(0, 'a')).to.equal(undefined)
    expect(await board.renew(0, 'a', 6)).to.equal(undefined)
  })
})

describe('an id that is looked for', () => {
  const lookUp = (answers: readonly object[]) =>
    createPublisher(answering(answers), 'stream LOG', async () => undefined).lookUp('log.id', 'key')
  const free = refusal(10_111, 'rollup not permitted')

  it('is known by the message that is under way with it, as soon as that is stored', async () => {
    const underWay = refusal(10_158, 'duplicate message id is in process')
    expect(await lookUp([underWay, underWay, { seq: 9, duplicate: true }])).to.equal(9)
    expect(await lookUp([underWay, free])).to.equal(undefined)
  })

  it('is not taken for free by any other refusal', async () => {
    expect((await rejection(lookUp([refusal(10_077, 'maximum bytes exceeded')]))).message).to.contain('maximum bytes')
  })
})

describe('what is read of a leader, one by one', () => {
  const given = (seq: number, bytes = 1) => ({
    message: { subject: 'log.a', seq, data: Buffer.alloc(bytes).toString('base64'), time: '2026-01-01T00:00:00Z' },
  })
  const none = refusal(10_037, 'no message found')
  const read = async (held: readonly ReturnType<typeof given>[], max = 9, enough = new AbortController().signal) => {
    const request = async (_subject: string, asked: string): Promise<Received> => {
      const { seq } = JSON.parse(asked) as { seq: number }
      return receivedOf(held.find(({ message }) => message.seq >= seq) ?? none)
    }
    const leader = createOfLeader({ request } as unknown as Nats, logName('0'))
    return (await leader.run(3, max, enough)).map(({ sequence }) => sequence)
  }

  it('ends where there is no more, or it is as much as was asked for, or as may be read at once', async () => {
    expect(await read([given(2), given(3), given(4), given(7)])).to.deep.equal([3, 4, 7])
    expect(await read([given(3), given(7), given(8)], 2)).to.deep.equal([3, 7])
    expect(await read([given(3, readBytesMax - 1), given(7), given(8)])).to.deep.equal([3, 7])
  })

  it('is one message at least where that is enough', async () => {
    expect(await read([given(3), given(7)], 9, AbortSignal.abort())).to.deep.equal([3])
  })
})

describe('the first event of a log', () => {
  const log = logName('0')
  const ends = async () => ({ first: 1, last: 1, cut: 0 })
  const event = { ...makeEvent('first'), position: 4096 }
  const nothing: Run = { events: [], damage: undefined, next: 1, wanted: undefined, begins: 1, hole: undefined }
  const sourceOf = (runs: Run[]) => ({ run: async () => runs.shift() ?? nothing }) as unknown as MessageSource

  it('is read when the copy that answers is behind at first', async () => {
    const source = sourceOf([nothing, { ...nothing, events: [event], next: 2 }])
    const { position, receivedAt } = event
    expect(await firstOf(log, { ends, source })).to.deep.equal({ position, receivedAt, isCut: false })
  })

  it('is the first one that is kept where the log is cut meanwhile', async () => {
    const damage = new PermanentError({ operation: 'read', subject: 'it' })
    const source = sourceOf([
      { ...nothing, damage },
      { ...nothing, events: [{ ...event, position: 8192 }], next: 3 },
    ])
    let asked = 0
    const cutMeanwhile = async () => (++asked === 1 ? { first: 1, last: 2, cut: 0 } : { first: 2, last: 2, cut: 1 })
    expect(await firstOf(log, { ends: cutMeanwhile, source })).to.include({ position: 8192, isCut: true })
  })

  it('is not read where it is damaged', async () => {
    const damage = new PermanentError({ operation: 'read', subject: 'it' })
    expect(await rejection(firstOf(log, { ends, source: sourceOf([{ ...nothing, damage }]) }))).to.equal(damage)
  })
})

describe('a connection to NATS that breaks, or is slow', () => {
  it('fails the requests that are under way then, and lets none wait until it is late', async () => {
    const server = await startPlainNats('')
    const [nats, silent] = await Promise.all([1, 2].map(() => connectNats({ url: server.url, timeoutMs: 60_000 })))
    const heard = Promise.withResolvers<void>()
    await silent?.subscribe('question', () => heard.resolve())
    const asked = [nats?.request('question', ''), nats?.requestMany('question', '', () => undefined)]
    const failures = asked.map(async (answer) => rejection(answer ?? Promise.resolve()))
    await heard.promise
    await server.remove()
    for (const failure of await Promise.all(failures)) expect(failure.message).to.include('the connection is lost')
    await Promise.all([nats?.close(), silent?.close()])
  })

  it('waits for answers that are late, of which it tells', async () => {
    const server = await startPlainNats('')
    const [nats, slow] = [await connectNats({ url: server.url }), await connect({ servers: server.url })]
    const heard = Promise.withResolvers<Msg>()
    slow.subscribe('question', { callback: (_error, message) => heard.resolve(message) })
    await slow.flush()
    const late = Promise.withResolvers<void>()
    const answers = nats.requestMany('question', '', late.resolve)
    await late.promise
    const message = await heard.promise
    message.respond('one')
    message.respond('', { headers: headers(204, 'that was all') })
    expect((await answers).map(({ code }) => code)).to.deep.equal([0, 204])
    await Promise.all([nats.close(), slow.close()])
    await server.remove()
  })

  it('is tried again, however often that was in vain', async () => {
    const server = await startPlainNats('')
    const nats = await connectNats({ url: server.url })
    await server.remove()
    let tries = 0
    const enough = Promise.withResolvers<void>()
    const refusing = createServer((socket) => {
      socket.destroy()
      if (++tries === 15) enough.resolve()
    })
    refusing.listen(Number(new URL(server.url).port), '127.0.0.1')
    await enough.promise
    await nats.close()
    refusing.close()
  })
})
