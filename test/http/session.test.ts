import { expect } from 'chai'
import type { Session, SignedIn } from '#src/directory/directory.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Route } from '#src/http/route.ts'
import { createSessionMiddleware, requireSession, signIn, signOut } from '#src/http/session.ts'
import { TransientError } from '#src/lib/failure.ts'
import { listen, type TestServer } from '#test/support/http.ts'

const person = { userId: 'u-1', email: 'a@b.example', workspaceId: workspaceIdOf('acme'), startedAt: 1 }

const routes: readonly Route[] = [
  {
    method: 'POST',
    path: '/app/sign-in',
    auth: 'public',
    handler: async (ctx) => {
      await signIn(ctx, { ...person, address: '10.0.0.7', passwordPosition: 0 })
      ctx.body = 'in'
    },
  },
  {
    method: 'POST',
    path: '/app/sign-out',
    auth: 'session',
    handler: (ctx) => {
      signOut(ctx)
      ctx.body = 'out'
    },
  },
  {
    method: 'GET',
    path: '/app/me',
    auth: 'session',
    handler: (ctx) => {
      const session = requireSession(ctx)
      ctx.body = session.ok ? session.value : {}
    },
  },
  { method: 'POST', path: '/api/in', auth: 'key', handler: (ctx) => void (ctx.status = 202) },
]

describe('http session', () => {
  let server: TestServer
  let started: { id: string; session: SignedIn }[]
  let ended: string[]
  let asked: { id: string; position: number }[]
  let isDown: boolean
  let ids: number
  const open = (secure?: boolean): Promise<TestServer> =>
    listen({
      routes,
      session: createSessionMiddleware({
        keys: ['a key for tests only, of 32 characters'],
        secure,
        cookieMaxAgeMs: 60_000,
        newId: () => `session-number-${String(++ids).padStart(10, '0')}`,
        store: {
          get: async (id, position) => {
            asked.push({ id, position })
            const found = started.find((each) => each.id === id)
            return found === undefined || ended.includes(id) ? undefined : ({ id, ...person } satisfies Session)
          },
          start: async (id, session) => {
            if (isDown) throw new TransientError({ operation: 'append to', subject: 'the directory' })
            started.push({ id, session })
            return 4_096 * started.length
          },
          end: async (id) => void ended.push(id),
        },
      }),
    })
  beforeEach(async () => {
    started = []
    ended = []
    asked = []
    isDown = false
    ids = 0
    server = await open()
  })
  afterEach(() => server.close())

  const ask = (path: string, cookie = '', method = 'GET'): Promise<Response> =>
    fetch(server.baseUrl + path, { method, headers: cookie === '' ? {} : { cookie } })
  const cookiesOf = (response: Response): string =>
    response.headers
      .getSetCookie()
      .map((cookie) => cookie.split(';')[0])
      .join('; ')
  const enter = async (cookie = ''): Promise<string> => cookiesOf(await ask('/app/sign-in', cookie, 'POST'))

  it('is signed in by a signed cookie that no script reads', async () => {
    const response = await ask('/app/sign-in', '', 'POST')
    const cookies = response.headers.getSetCookie()
    expect(cookies).to.have.length(2)
    for (const cookie of cookies) {
      expect(cookie.toLowerCase()).to.contain('httponly').and.to.contain('samesite=lax').and.to.contain('path=/')
      expect(cookie.toLowerCase()).not.to.contain('secure')
    }
    expect(started[0]?.session).to.deep.equal({ ...person, address: '10.0.0.7', passwordPosition: 0 })
    const me = await ask('/app/me', cookiesOf(response))
    expect(await me.json()).to.deep.equal({ id: started[0]?.id, ...person })
    expect(me.headers.getSetCookie()).to.deep.equal([])
  })

  it('asks the store for the session at the position of its start', async () => {
    await ask('/app/me', await enter())
    expect(asked).to.deep.equal([{ id: started[0]?.id, position: 4_096 }])
  })

  it('is not asked for where a key is what counts: whoever sends from a page of ours brings its cookie', async () => {
    expect((await ask('/api/in', await enter(), 'POST')).status).to.equal(202)
    expect(asked).to.deep.equal([])
  })

  it('gives nobody a session who brings none, or one of his own making', async () => {
    const cookie = await enter()
    const forged = cookie.replace('session-number', 'session-forged')
    const unsigned = cookie.split('; ')[0] ?? ''
    for (const each of ['', forged, unsigned, 'throughline=x; throughline.sig=y']) {
      expect((await ask('/app/me', each)).status, each).to.equal(401)
    }
    expect(started).to.have.length(1)
  })

  it('takes a new id at every sign-in, and ends the one before', async () => {
    const first = await enter()
    const second = await enter(first)
    expect(started.map(({ id }) => id)).to.have.length(2)
    expect(ended).to.deep.equal([started[0]?.id])
    expect((await ask('/app/me', first)).status).to.equal(401)
    expect(((await (await ask('/app/me', second)).json()) as Session).id).to.equal(started[1]?.id)
  })

  it('does not start under an id that was planted before', async () => {
    const cookie = await enter()
    ended.push(started[0]?.id ?? '')
    await enter(cookie)
    expect(started[1]?.id).not.to.equal(started[0]?.id)
  })

  it('ends at sign-out, everywhere', async () => {
    const cookie = await enter()
    const out = await ask('/app/sign-out', cookie, 'POST')
    expect(out.headers.getSetCookie().join(' ')).to.contain('01 Jan 1970')
    expect(ended).to.deep.equal([started[0]?.id])
    expect((await ask('/app/me', cookie)).status).to.equal(401)
  })

  it('is not given when it could not be written down', async () => {
    isDown = true
    const response = await ask('/app/sign-in', '', 'POST')
    expect(response.status).to.equal(503)
    expect(response.headers.getSetCookie()).to.deep.equal([])
  })

  it('is for https alone where the service is, also behind a proxy', async () => {
    const secure = await open(true)
    const response = await fetch(`${secure.baseUrl}/app/sign-in`, { method: 'POST' })
    await secure.close()
    const [cookie = ''] = response.headers.getSetCookie()
    expect(cookie).to.match(/^__Host-throughline=/)
    expect(cookie.toLowerCase()).to.contain('; secure')
  })
})
