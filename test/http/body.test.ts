import { EventEmitter, once } from 'node:events'
import { Readable } from 'node:stream'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect } from 'chai'
import type { Context } from 'koa'
import { limits as allLimits } from '#src/config.ts'
import { createBodyBudget, useBody, type BodyBudget } from '#src/http/body.ts'
import { encodings } from '#src/http/decompress.ts'
import type { Route } from '#src/http/route.ts'
import type { Refusal } from '#src/events/refusal.ts'
import type { Result } from '#src/lib/result.ts'
import { listen, rawConnection, rawStatus, type TestServer } from '#test/support/http.ts'
import { standStill } from '#test/support/stand-still.ts'

const limits = { ...allLimits, bodyBytesMax: 2_000_000, decodedBytesMax: 4_000_000 }
const words = (bytes: number): Buffer => {
  let seed = 1
  const buffer = Buffer.alloc(bytes)
  for (let index = 0; index < bytes; index++) {
    seed = (seed * 48_271) % 2_147_483_647
    buffer[index] = 97 + (seed % 16)
  }
  return buffer
}

describe('http body', () => {
  let server: TestServer
  let budget: BodyBudget
  let freed: Promise<void>
  /** What is held of a body once it is read. */
  let held: number
  let bodyTimeoutMs: number
  /** What became of the body that was read last. */
  let reading: Promise<Result<void, Refusal>>
  /** What is done with a body. */
  let use: () => Promise<void>
  const route: Route = {
    method: 'POST',
    path: '/in',
    auth: 'key',
    handler: async (ctx) => {
      freed = new Promise((resolve) => ctx.res.once('close', () => setImmediate(resolve)))
      reading = useBody(ctx, { limits: { ...limits, bodyTimeoutMs }, encodings, budget }, async ({ bytes, gzip }) => {
        held = budget.held()
        await use()
        ctx.set('X-Kept', String(gzip?.length ?? 'unpacked'))
        ctx.body = `${bytes.length} ${Buffer.from(bytes.subarray(0, 16)).toString('latin1')}`
      })
      const read = await reading
      return read.ok ? undefined : read.error
    },
  }
  const gzipOnly: Route = {
    method: 'POST',
    path: '/gzip-only',
    auth: 'key',
    handler: async (ctx) => {
      const read = await useBody(ctx, { limits, encodings: ['gzip'], budget }, () => undefined)
      return read.ok ? undefined : read.error
    },
  }
  let arrived: PromiseWithResolvers<void>
  let left: PromiseWithResolvers<void>
  const readsLate: Route = {
    method: 'POST',
    path: '/late',
    auth: 'key',
    handler: async (ctx) => {
      arrived.resolve()
      await once(ctx.res, 'close')
      reading = useBody(ctx, { limits, encodings, budget }, () => undefined)
      left.resolve()
    },
  }
  beforeEach(async () => {
    ;({ bodyTimeoutMs } = limits)
    arrived = Promise.withResolvers()
    left = Promise.withResolvers()
    budget = createBodyBudget(6_000_000)
    held = -1
    use = async () => undefined
    server = await listen({ routes: [route, gzipOnly, readsLate] })
  })
  afterEach(() => server.close())

  const send = async (
    body: Uint8Array,
    encoding?: string,
  ): Promise<{ status: number; text: string; code?: string }> => {
    const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
    const response = await fetch(`${server.baseUrl}/in`, { method: 'POST', body: Buffer.from(body), headers })
    const text = await response.text()
    return response.ok
      ? { status: 200, text }
      : { status: response.status, text, code: (JSON.parse(text) as { code: string }).code }
  }

  const packers = [
    ['gzip', (body: Buffer) => gzipSync(body)],
    ['x-gzip', (body: Buffer) => gzipSync(body)],
    ['deflate', (body: Buffer) => deflateSync(body)],
    ['deflate', (body: Buffer) => deflateRawSync(body)],
    ['br', (body: Buffer) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['zstd', (body: Buffer) => zstdCompressSync(body)],
    ['identity', (body: Buffer) => body],
  ] as const

  for (const [name, pack] of packers) {
    for (const bytes of [0, 5, 200_000, 1_500_000]) {
      it(`takes ${bytes} bytes as ${name}`, async () => {
        const body = words(bytes)
        const { status, text } = await send(pack(body), name)
        expect(status).to.equal(200)
        expect(text).to.equal(`${bytes} ${body.subarray(0, 16).toString('latin1')}`)
      })
    }
    if (name === 'identity') continue
    for (const bytes of [500, 400_000]) {
      it(`refuses a cut ${name} body of ${bytes} bytes, and one with more after its end`, async () => {
        const packed = pack(words(bytes))
        expect(await send(packed.subarray(0, packed.length - 9), name)).to.deep.include({
          status: 400,
          code: 'invalid_body',
        })
        const followed = await send(Buffer.concat([packed, Buffer.from('more of it')]), name)
        expect(followed).to.deep.include({ status: 400, code: 'invalid_body' })
      })
    }
    it(`refuses a ${name} bomb before it is whole`, async () => {
      const bomb = pack(Buffer.alloc(40_000_000))
      expect(await send(bomb, name)).to.deep.include({ status: 413, code: 'payload_too_large' })
    })
    it(`refuses what is not ${name}`, async () => {
      expect(await send(Buffer.from('{"plain":"json"}'), name)).to.deep.include({ status: 400, code: 'invalid_body' })
    })
  }

  it('says of a body that grows too much when decompressed that it does, not that it is large', async () => {
    expect((await send(gzipSync(Buffer.alloc(3_000_000)), 'gzip')).text).to.contain('more than 200 times larger')
  })

  it('takes a small body however much it grows, up to a megabyte', async () => {
    expect((await send(gzipSync(Buffer.alloc(900_000)), 'gzip')).status).to.equal(200)
  })

  it('takes a body of nothing for what it is, whatever it is said to be packed with', async () => {
    for (const encoding of encodings) {
      const headers = { 'content-encoding': encoding }
      const response = await fetch(`${server.baseUrl}/in`, { method: 'POST', body: Buffer.alloc(0), headers })
      expect([await response.text(), response.headers.get('x-kept')], encoding).to.deep.equal(['0 ', 'unpacked'])
    }
  })

  it('takes a body as large as one may be', async () => {
    expect((await send(words(limits.bodyBytesMax))).status).to.equal(200)
  })

  it('keeps what came packed as gzip, and of other packings only what was in them', async () => {
    const gzip = gzipSync(words(5_000))
    await send(gzip, 'gzip')
    expect(held).to.equal(5_000 + gzip.length)
    await freed
    await send(deflateSync(words(5_000)), 'deflate')
    expect(held).to.equal(5_000)
    await freed
    expect(budget.held()).to.equal(0)
  })

  it('joins the members of a gzip body', async () => {
    const { text } = await send(Buffer.concat([gzipSync('first '), gzipSync('second')]), 'gzip')
    expect(text).to.equal('12 first second')
  })

  const skipped = Buffer.from([0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3])
  const frames = (count: number): Buffer => Buffer.concat(Array(count).fill(zstdCompressSync('first ')))

  it('joins the frames of a zstd body, and skips those that are to be skipped', async () => {
    const packed = Buffer.concat([skipped, zstdCompressSync('first '), skipped, zstdCompressSync('second'), skipped])
    expect((await send(packed, 'zstd')).text).to.equal('12 first second')
    const long = [zstdCompressSync(words(200_000)), zstdCompressSync(words(300_000))]
    expect((await send(Buffer.concat(long), 'zstd')).text).to.match(/^500000 /)
    expect((await send(frames(1_000), 'zstd')).text).to.match(/^6000 /)
  })

  it('refuses a zstd body with a damaged frame, of too many frames, or of frames that come to too much', async () => {
    const bad = { status: 400, code: 'invalid_body' }
    const large = { status: 413, code: 'payload_too_large' }
    expect(await send(Buffer.concat([frames(1), frames(1).subarray(0, 9)]), 'zstd')).to.deep.include(bad)
    expect(await send(Buffer.concat([frames(2), Buffer.alloc(8)]), 'zstd')).to.deep.include(bad)
    expect(await send(frames(1_001), 'zstd')).to.deep.include(large)
    const half = zstdCompressSync(Buffer.alloc(2_100_000, words(30_000)))
    expect((await send(half, 'zstd')).status).to.equal(200)
    expect(await send(Buffer.concat([half, half]), 'zstd')).to.deep.include(large)
  })

  it('takes a zstd body that wants a window of 8 MiB, and none that wants more', async () => {
    const hello = (window: number): Buffer =>
      Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3, 0x29, 0, 0]), Buffer.from('hello')])
    expect((await send(hello(23), 'zstd')).text).to.equal('5 hello')
    expect(await send(hello(24), 'zstd')).to.deep.include({ status: 400, code: 'invalid_body' })
  })

  for (const bytes of [5, 700_000]) {
    it(`refuses zeros after the end of ${bytes} bytes as gzip`, async () => {
      const followed = Buffer.concat([gzipSync(words(bytes)), Buffer.alloc(8)])
      expect(await send(followed, 'gzip')).to.deep.include({ status: 400, code: 'invalid_body' })
    })
  }

  it('refuses gzip that no header tells of, and says which one would', async () => {
    const { status, code, text } = await send(gzipSync('first line'))
    expect([status, code]).to.deep.equal([400, 'invalid_body'])
    expect((JSON.parse(text) as { detail: string }).detail).to.include('send "Content-Encoding: gzip"')
    expect((await send(gzipSync('first line').subarray(0, 2))).status).to.equal(200)
  })

  it('refuses what is packed twice, of which no header can tell', async () => {
    for (const [name, pack] of packers) {
      const { status, code, text } = await send(pack(gzipSync('first line')), name)
      expect([status, code], name).to.deep.equal([400, 'invalid_body'])
      if (name !== 'identity') expect((JSON.parse(text) as { detail: string }).detail, name).to.include('pack it once')
    }
  })

  it('gives gzip that lies about its size what it deserves', async () => {
    const packed = gzipSync(words(900_000))
    packed.writeUInt32LE(10, packed.length - 4)
    expect((await send(packed, 'gzip')).status).to.equal(400)
  })

  for (const encoding of ['gzip, gzip', 'identity, gzip, br', 'compress', 'aws-chunked']) {
    it(`refuses the content encoding ${encoding}`, async () => {
      expect(await send(gzipSync('a'), encoding)).to.deep.include({ status: 415, code: 'unsupported_encoding' })
    })
  }

  it('refuses an encoding that others may use, and names those of this address', async () => {
    const headers = { 'content-encoding': 'br' }
    const response = await fetch(`${server.baseUrl}/gzip-only`, { method: 'POST', body: 'x', headers })
    expect(response.status).to.equal(415)
    expect(((await response.json()) as { detail: string }).detail).to.contain('send none, or one of gzip.')
  })

  it('refuses a declared length over the limit without reading', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 2000001\r\n\r\n')
    const text = await raw.until((so) => so.includes('request_id'))
    expect(rawStatus(text)).to.equal(413)
    expect(text).to.match(/connection: close/i)
    raw.socket.destroy()
  })

  it('answers a sender that reads nothing until it has sent everything, and then closes', async () => {
    const chunk = `${(100_000).toString(16)}\r\n${'a'.repeat(100_000)}\r\n`
    let text = ''
    // What is sent is read for a second at least: where this process stood still for that long it is sent again.
    while (text === '') {
      const raw = await rawConnection(server.port, { isReading: false })
      raw.write('POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
      const sent = Array.from({ length: 120 }, () => new Promise((resolve) => raw.socket.write(chunk, resolve)))
      await Promise.all(sent)
      await new Promise((resolve) => raw.socket.write('0\r\n\r\n', resolve))
      raw.read()
      text = await raw.ended()
    }
    expect(rawStatus(text)).to.equal(413)
    expect(text).to.contain('payload_too_large')
  })

  it('gives a slow body 408', async () => {
    bodyTimeoutMs = 200
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc')
    const text = await raw.until((so) => so.includes('request_id'))
    expect(rawStatus(text)).to.equal(408)
    expect(text)
      .to.contain('body_timeout')
      .and.to.match(/connection: close/i)
    raw.socket.destroy()
  })

  it('takes a body that came in time while this process stood still', async () => {
    bodyTimeoutMs = 200
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 6\r\n\r\n')
    await raw.until((so) => so.includes('100 Continue'))
    raw.write('abcdef')
    standStill(1_300)
    expect(await raw.until((so) => so.includes('abcdef'))).to.contain('200 OK')
    raw.socket.destroy()
  })

  it('keeps nothing of a sender that hangs up', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1000\r\n\r\n')
    expect(await raw.until((so) => so.includes('\r\n\r\n'))).to.contain('100 Continue')
    raw.write('abc')
    raw.socket.destroy()
    await freed
    expect(budget.held()).to.equal(0)
    expect(await reading).to.have.nested.property('error.code', 'invalid_body')
    expect(held, 'nothing was taken for the whole body').to.equal(-1)
    expect(server.failures).to.deep.equal([])
  })

  it('counts what a sender has left behind for as long as it is used', async () => {
    const [using, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    use = () => {
      using.resolve()
      return done.promise
    }
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc')
    await using.promise
    raw.socket.resetAndDestroy()
    await freed
    expect(budget.held()).to.equal(3)
    done.resolve()
    await reading
    expect(budget.held()).to.equal(0)
  })

  it('gives back what was held if its use fails', async () => {
    use = () => Promise.reject(new Error('full'))
    expect((await send(words(5_000))).status).to.equal(503)
    expect(budget.held()).to.equal(0)
  })

  it('does not wait for the body of a sender that has hung up before it is read', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc')
    await arrived.promise
    raw.socket.destroy()
    await left.promise
    expect(await reading).to.have.nested.property('error.code', 'invalid_body')
  })

  it('keeps nothing of what is unpacked for a sender that is gone by then', async () => {
    const req = Object.assign(Readable.from([gzipSync(words(1_000))]), { complete: true, httpVersion: '1.1' })
    const res = Object.assign(new EventEmitter(), { closed: false })
    req.once('end', () => {
      res.closed = true
      res.emit('close')
    })
    const get = (name: string): string => (name === 'Content-Encoding' ? 'gzip' : '')
    const ctx = { get, req, res } as unknown as Context
    const read = await useBody(ctx, { limits, encodings, budget }, () => undefined)
    expect([read.ok, budget.held()]).to.deep.equal([false, 0])
  })

  it('answers 100-continue only for a body that it will read', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n')
    const text = await raw.until((so) => so.includes('request_id'))
    expect(rawStatus(text)).to.equal(413)
    raw.socket.destroy()
  })

  it('answers no 100-continue to HTTP/1.0, which knows of none', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /in HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc')
    expect(rawStatus(await raw.ended())).to.equal(200)
  })

  it('refuses a body that is packed for the way, which would be kept as it came', async () => {
    const raw = await rawConnection(server.port)
    const packed = gzipSync('abc')
    raw.write(
      `POST /in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n${packed.length.toString(16)}\r\n`,
    )
    raw.write(Buffer.concat([packed, Buffer.from('\r\n0\r\n\r\n')]))
    const text = await raw.until((so) => so.includes('request_id'))
    expect(rawStatus(text)).to.equal(415)
    raw.socket.destroy()
  })

  it('refuses with 503 what is more than the process may hold, and holds nothing afterwards', async () => {
    budget = createBodyBudget(300_000)
    expect(await send(words(300_001))).to.deep.include({ status: 503, code: 'overloaded' })
    await freed
    expect(await send(gzipSync(words(300_001)), 'gzip')).to.deep.include({ status: 503, code: 'overloaded' })
    await freed
    expect(await send(gzipSync(Buffer.alloc(900_000)), 'gzip')).to.deep.include({ status: 503, code: 'overloaded' })
    await freed
    expect(budget.held()).to.equal(0)
    expect((await send(words(300_000))).status).to.equal(200)
    await freed
    expect(budget.held()).to.equal(0)
  })

  it('gives an owner half of what the process may hold, less what that owner holds and nothing else', () => {
    const all = createBodyBudget(100)
    const [one, other, third] = [all.shareOf('one'), all.shareOf('other'), all.shareOf('third')]
    expect([one.take(20), other.take(50), other.take(1), third.take(30)]).to.deep.equal([true, true, false, true])
    expect(one.take(10), 'while the process has no room').to.equal(false)
    third.give(30)
    expect([one.take(30), one.take(1)], 'what was refused is not held').to.deep.equal([true, false])
    other.give(50)
    one.give(10)
    expect([one.take(11), one.take(10)], 'what was not given back is').to.deep.equal([false, true])
    one.give(50)
    expect(all.held()).to.equal(0)
  })

  it('leaves the connection usable after a small body that was not read', async () => {
    const raw = await rawConnection(server.port)
    raw.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde')
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz')
    const text = await raw.until((so) => so.includes('3 xyz'))
    expect(rawStatus(text)).to.equal(404)
    expect(text).to.contain('HTTP/1.1 200')
    raw.socket.destroy()
  })

  it('leaves the connection usable after a body for which there was no room while it was read', async () => {
    budget = createBodyBudget(100_000)
    const raw = await rawConnection(server.port)
    raw.write(`POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${'a'.repeat(200_000)}`)
    expect(rawStatus(await raw.until((so) => so.includes('request_id')))).to.equal(503)
    raw.write('a'.repeat(700_000))
    raw.write('POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz')
    expect(await raw.until((so) => so.includes('3 xyz'))).to.contain('HTTP/1.1 200')
    raw.socket.destroy()
  })
})
