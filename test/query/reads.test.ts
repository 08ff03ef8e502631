import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { expect } from 'chai'
import { limits as allLimits, type Limits } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { abortScope } from '#src/lib/abort-scope.ts'
import { createReads, type Reads } from '#src/query/reads.ts'
import { listen, type TestServer } from '#test/support/http.ts'

const megabyte = 1024 * 1024
/** More than sockets hold. */
const large = randomBytes(16 * megabyte)

describe('the reads of a process', () => {
  let server: TestServer
  /** What goes on with the query of a workspace, once it is inside. */
  let inside: Map<string, (body: string | Buffer) => void>
  let signals: Map<string, AbortSignal>
  let heard = (): void => {}

  /** Answers `/WORKSPACE` when a test says so, and `/WORKSPACE/large` and `/WORKSPACE/text` at once. */
  async function open(few: Partial<Limits>, kind: keyof Reads = 'query'): Promise<void> {
    const read = createReads({ ...allLimits, ...few })[kind]
    const bodies: Readonly<Record<string, string | Buffer>> = { large, text: large.toString('latin1') }
    const route = (path: string): Route => ({
      method: 'GET',
      path,
      auth: 'public',
      handler: (ctx) => {
        const { workspace, body } = ctx['params'] as { workspace: string; body?: string }
        return read(ctx, workspaceIdOf(workspace), async () => {
          const signal = abortScope.signal()
          if (signal !== undefined) signals.set(workspace, signal)
          ctx.body =
            bodies[body ?? ''] ??
            (await new Promise<string | Buffer>((resolve) => {
              inside.set(workspace, resolve)
              heard()
            }))
        })
      },
    })
    server = await listen({ routes: [route('/:workspace'), route('/:workspace/:body')] })
  }
  beforeEach(() => {
    inside = new Map()
    signals = new Map()
  })
  afterEach(() => server.close())

  const ask = async (path: string) => {
    const response = await fetch(`${server.baseUrl}/${path}`)
    await response.arrayBuffer()
    return { status: response.status, wait: Number(response.headers.get('retry-after')) }
  }
  const begin = async (path: string): Promise<IncomingMessage> =>
    ((await once(get(`${server.baseUrl}/${path}`), 'response')) as [IncomingMessage])[0]
  const isInside = async (workspace: string): Promise<(body: string | Buffer) => void> => {
    for (;;) {
      const go = inside.get(workspace)
      if (go !== undefined) return go
      await new Promise<void>((resolve) => (heard = resolve))
    }
  }
  const lengthOf = async (response: IncomingMessage): Promise<number> => {
    let length = 0
    for await (const chunk of response) length += (chunk as Buffer).length
    return length
  }

  it('are refused as overload when all together hold too much, and let in again when it has gone out', async () => {
    await open({ answersInFlightBytesMax: 20 * megabyte, queryBytes: 4 * megabyte, queryWaitMs: 1 })
    const unread = await begin('acme/large')
    const second = ask('globex')
    const go = await isInside('globex')
    const { status, wait } = await ask('initech')
    expect(status).to.equal(503)
    expect(wait).to.be.within(1, 4)
    expect(unread.headers['content-length']).to.equal(String(large.length))
    expect(await lengthOf(unread)).to.equal(large.length)
    const third = ask('initech')
    ;(await isInside('initech'))('done')
    go('done')
    expect([(await second).status, (await third).status]).to.deep.equal([200, 200])
  })

  it('leave room for others, however much one workspace holds', async () => {
    await open({ answersInFlightBytesMax: 40 * megabyte, queryBytes: 4 * megabyte, queryWaitMs: 1 })
    const unread = await begin('acme/text')
    const { status, wait } = await ask('acme')
    expect([status, wait]).to.deep.equal([429, 1])
    const theirs = ask('globex')
    ;(await isInside('globex'))('done')
    expect((await theirs).status).to.equal(200)
    unread.destroy()
  })

  it('wait for their turn', async () => {
    await open({ queriesPerWorkspaceAtOnce: 1, queryWaitMs: 60_000 })
    const first = ask('acme')
    const go = await isInside('acme')
    const second = ask('acme/large')
    go('done')
    expect([(await first).status, (await second).status]).to.deep.equal([200, 200])
  })

  it('are refused at once where as many of a workspace wait as may', async () => {
    await open({ queriesPerWorkspaceAtOnce: 1, queriesPerWorkspaceWaiting: 0, queryWaitMs: 600_000 })
    const first = ask('acme')
    const go = await isInside('acme')
    expect(await ask('acme')).to.deep.equal({ status: 429, wait: 1 })
    go('done')
    expect((await first).status).to.equal(200)
  })

  it('that are exports are as many as a process may have under way, of however many workspaces', async () => {
    await open({ exportsAtOnce: 2 }, 'export')
    const held = [ask('acme'), ask('globex')]
    const letGo = [await isInside('acme'), await isInside('globex')]
    const { status, wait } = await ask('initech/text')
    expect(status).to.equal(503)
    expect(wait).to.be.within(1, 4)
    for (const go of letGo) go('done')
    for (const each of held) expect((await each).status).to.equal(200)
  })

  it('say that their client has gone, and hold what they hold until they have ended', async () => {
    await open({ queriesPerWorkspaceAtOnce: 1, queryWaitMs: 1 })
    const request = get(`${server.baseUrl}/acme`)
    request.on('error', () => undefined)
    const go = await isInside('acme')
    request.destroy()
    const signal = signals.get('acme')
    if (signal === undefined) throw new Error('a read hears that its client has gone')
    if (!signal.aborted) await once(signal, 'abort')
    expect((await ask('acme/large')).status).to.equal(429)
    go('done')
    for (;;) if ((await ask('acme/large')).status === 200) break
    expect(server.failures).to.deep.equal([])
  })
})
