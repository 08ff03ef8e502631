import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { sealDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import { plans } from '#src/config.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { createKeySecret, hashKey, keyKinds } from '#src/directory/keys.ts'
import { createWorkspace, openDirectory, passwords, pepper, valueOf, type Opened } from './harness.ts'

const password = 'a long password'

describe('directory', () => {
  let one: Opened
  let directory: Directory
  let workspace: Workspace
  beforeEach(async () => {
    one = await openDirectory()
    directory = one.directory
    workspace = await createWorkspace(directory, 'Acme')
  })
  afterEach(() => directory.close())

  const user = async (email = 'ann@acme.example') =>
    valueOf(await directory.createUser({ email, password, workspaceId: workspace.id }))
  const started = async (id: string, userId: string, address = '') => {
    await directory.startSession({ id, userId, workspaceId: workspace.id, address })
    return directory.session(id)
  }

  describe('workspaces', () => {
    it('have a plan from the table, and an id that nobody chose', () => {
      expect(workspace).to.deep.include({ name: 'Acme', plan: plans['pro'], createdAt: one.clock() })
      expect(workspace.id).to.match(/^w[0-9a-f]{16}$/)
      expect(directory.workspace(workspace.id)).to.equal(workspace)
      expect(directory.workspaceNamed('aCME')).to.equal(workspace)
      expect(directory.workspaceNamed(workspace.id)).to.equal(workspace)
      expect(directory.workspaceNamed('other')).to.equal(undefined)
    })

    it('have names of their own, in any case, and proper ones', async () => {
      for (const [name, code] of [
        ['acme', 'exists'],
        [' ACME ', 'exists'],
        ['directory', 'exists'],
        ['', 'invalid'],
        ['a\nb', 'invalid'],
        ['x'.repeat(81), 'invalid'],
      ] as const) {
        const refused = await directory.createWorkspace({ name, plan: 'free' })
        expect(!refused.ok && refused.error.code, JSON.stringify(name)).to.equal(code)
      }
      expect(directory.workspaces()).to.have.length(1)
      // A letter with a mark is one sign or two, by who types it; nobody sees which.
      const composed = await createWorkspace(directory, 'Caf\u00e9')
      expect(directory.workspaceNamed('cafe\u0301')).to.equal(composed)
      expect((await directory.createWorkspace({ name: 'Cafe\u0301', plan: 'free' })).ok).to.equal(false)
      expect((await directory.createWorkspace({ name: 'x'.repeat(80), plan: 'free' })).ok, 'the longest').to.equal(true)
    })

    it('refuse a plan that is not in the table, by inherited names too', async () => {
      for (const plan of ['gold', 'constructor', '__proto__', '']) {
        expect((await directory.createWorkspace({ name: 'x', plan })).ok, plan).to.equal(false)
        expect((await directory.changePlan(workspace.id, plan)).ok, plan).to.equal(false)
      }
    })

    it('change their plan at once', async () => {
      valueOf(await directory.changePlan(workspace.id, 'free'))
      expect(directory.workspace(workspace.id)?.plan).to.equal(plans['free'])
      const head = await one.stream.head()
      valueOf(await directory.changePlan(workspace.id, 'free'))
      expect(await one.stream.head(), 'written once').to.equal(head)
    })

    it('on a plan that is gone from the table have nothing', async () => {
      const { directory: later } = await openDirectory({ stream: one.stream, plans: { free: plans['free']! } })
      expect(later.workspace(workspace.id)?.plan).to.deep.include({ features: [], spansPerMonth: 0 })
      await later.close()
    })

    it('created twice at the same time by two processes are one', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      const outcomes = await Promise.all(
        [directory, other, directory, other].map((each) => each.createWorkspace({ name: 'Both', plan: 'free' })),
      )
      expect(outcomes.filter(({ ok }) => ok)).to.have.length(1)
      await other.followed(await one.stream.head(), 60_000)
      expect(other.workspaces().map(({ name }) => name)).to.deep.equal(['Acme', 'Both'])
      await other.close()
    })
  })

  describe('users', () => {
    it('are members of the workspace they are created in', async () => {
      const ann = await user(' Ann@Acme.Example ')
      expect(ann).to.deep.include({ email: 'ann@acme.example', workspaceIds: [workspace.id] })
      expect(directory.userByEmail('ANN@acme.example')).to.deep.equal(ann)
      expect(directory.members(workspace.id)).to.deep.equal([
        { userId: ann.id, email: 'ann@acme.example', role: 'member', addedAt: one.clock() },
      ])
    })

    it('have an address of their own, in any case, and a long password', async () => {
      await user()
      await user('rene\u0301@acme.example')
      expect(directory.userByEmail('ren\u00e9@acme.example')?.email).to.equal('ren\u00e9@acme.example')
      for (const [email, chosen, field] of [
        ['ANN@acme.example', password, 'email'],
        ['Ren\u00e9@acme.example', password, 'email'],
        ['no address', password, 'email'],
        ['@', password, 'email'],
        [`${'x'.repeat(250)}@y.zz`, password, 'email'],
        ['bob@acme.example', 'short', 'password'],
      ] as const) {
        const refused = await directory.createUser({ email, password: chosen, workspaceId: workspace.id })
        expect(!refused.ok && refused.error.field, email).to.equal(field)
      }
      expect(directory.members(workspace.id)).to.have.length(2)
    })

    it('created twice at once by two processes are one', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      const wanted = { email: 'both@acme.example', password, workspaceId: workspace.id }
      const outcomes = await Promise.all([directory, other].map((each) => each.createUser(wanted)))
      expect(outcomes.filter(({ ok }) => ok)).to.have.length(1)
      await other.close()
    })

    it('sign in with their password only', async () => {
      const ann = await user()
      const passwordPosition = directory.passwordPosition(ann.id)
      expect(passwordPosition).above(0)
      expect(await directory.authenticate('ANN@acme.example ', password)).to.deep.equal({ ...ann, passwordPosition })
      expect(await directory.authenticate('ann@acme.example', 'another password')).to.equal(undefined)
      expect(await directory.authenticate('bob@acme.example', password)).to.equal(undefined)
    })

    it('may belong to several workspaces, in the order of joining', async () => {
      const ann = await user()
      const second = await createWorkspace(directory, 'Second')
      valueOf(await directory.addMember({ workspaceId: second.id, userId: ann.id }))
      valueOf(await directory.addMember({ workspaceId: second.id, userId: ann.id }))
      const written = await one.stream.head()
      valueOf(await directory.addMember({ workspaceId: second.id, userId: ann.id, role: 'member' }))
      expect(await one.stream.head(), 'who is that already').to.equal(written)
      // Another role in the first is no other time of joining it.
      valueOf(await directory.addMember({ workspaceId: workspace.id, userId: ann.id, role: 'owner' }))
      expect(directory.user(ann.id)?.workspaceIds).to.deep.equal([workspace.id, second.id])
      expect(directory.members(second.id)).to.have.length(1)
    })

    it('get the role that was said last, and keep their place and their sessions', async () => {
      const ann = await user()
      await user('bob@acme.example')
      await started('a'.repeat(32), ann.id)
      const joined = directory.members(workspace.id)[0]?.addedAt
      one.clock.advance(1_000)
      valueOf(await directory.addMember({ workspaceId: workspace.id, userId: ann.id, role: 'owner' }))
      valueOf(await directory.addMember({ workspaceId: workspace.id, userId: ann.id }))
      expect(directory.members(workspace.id)[0]).to.deep.include({ userId: ann.id, role: 'owner', addedAt: joined })
      expect(directory.user(ann.id)?.workspaceIds).to.deep.equal([workspace.id])
      expect(directory.session('a'.repeat(32))).to.not.equal(undefined)
    })

    it('who leave a workspace lose their sessions in it; the last one stays', async () => {
      const ann = await user()
      expect((await directory.removeMember({ workspaceId: workspace.id, userId: ann.id })).ok).to.equal(false)
      await user('bob@acme.example')
      expect(await started('a'.repeat(32), ann.id)).to.not.equal(undefined)
      valueOf(await directory.removeMember({ workspaceId: workspace.id, userId: ann.id }))
      expect(directory.session('a'.repeat(32))).to.equal(undefined)
      expect(directory.user(ann.id)?.workspaceIds).to.deep.equal([])
      expect(await started('b'.repeat(32), ann.id), 'begun where it was not known yet').to.equal(undefined)
      valueOf(await directory.addMember({ workspaceId: workspace.id, userId: ann.id }))
      expect(directory.session('a'.repeat(32)), 'also when they come back').to.equal(undefined)
    })

    it('keep an owner where two processes take the last two out, or make them members, at once', async () => {
      const { directory: other } = await openDirectory({ stream: one.stream })
      const workspaceId = workspace.id
      await user('eve@acme.example')
      const [ann, bob] = [await user(), await user('bob@acme.example')]
      const ways = [
        (of: Directory, userId: string) => of.removeMember({ workspaceId, userId }),
        (of: Directory, userId: string) => of.addMember({ workspaceId, userId, role: 'member' }),
      ]
      for (const way of ways) {
        for (const { id: userId } of [ann, bob])
          valueOf(await directory.addMember({ workspaceId, userId, role: 'owner' }))
        const done = await Promise.all([way(directory, ann.id), way(other, bob.id)])
        expect(done.map(({ ok }) => ok)).to.have.members([true, false])
        expect(directory.members(workspaceId).filter(({ role }) => role === 'owner')).to.have.length(1)
      }
      await other.close()
    })

    it('are not known by a password that is changed while it is checked', async () => {
      const ann = await user()
      const { directory: slow } = await openDirectory({
        stream: one.stream,
        passwords: {
          ...passwords,
          verify: async (...given) => {
            const isRight = await passwords.verify(...given)
            const changed = await directory.changePassword({ userId: ann.id, password: 'another password' })
            await slow.followed(valueOf(changed), 60_000)
            return isRight
          },
        },
      })
      expect(await slow.authenticate(ann.email, password)).to.equal(undefined)
      await slow.close()
    })

    it('who change their password end every session, and sign in with the new one only', async () => {
      const ann = await user()
      await started('a'.repeat(32), ann.id)
      await started('b'.repeat(32), ann.id)
      const short = await directory.changePassword({ userId: ann.id, password: 'short' })
      expect(!short.ok && short.error.field).to.equal('password')
      valueOf(await directory.changePassword({ userId: ann.id, password: 'another password' }))
      expect(directory.session('a'.repeat(32))).to.equal(undefined)
      expect(directory.session('b'.repeat(32))).to.equal(undefined)
      expect(await directory.authenticate(ann.email, password)).to.equal(undefined)
      expect(await directory.authenticate(ann.email, 'another password')).to.not.equal(undefined)
    })

    it('cannot begin a session with a password that was changed meanwhile', async () => {
      const ann = await user()
      const { directory: slow } = await openDirectory({ stream: one.stream })
      // The slow process decides by the old password; the change is in the log before its session is.
      const position = directory.password(ann.id)?.position ?? 0
      valueOf(await directory.changePassword({ userId: ann.id, password: 'another password' }))
      const late: DirectoryEvent = {
        type: 'directory.session.started',
        workspaceId: workspace.id,
        session: 'f'.repeat(64),
        userId: ann.id,
        address: '192.0.2.9',
        passwordPosition: position,
      }
      const { last } = await one.stream.append([sealDirectoryEvent(late, one.clock(), 'f'.repeat(32))])
      await slow.followed(last, 60_000)
      expect(slow.position()).to.equal(last)
      expect(slow.isKnownAddress(ann.id, '192.0.2.9')).to.equal(false)
      await slow.close()
    })
  })

  describe('keys', () => {
    for (const kind of keyKinds) {
      it(`of kind ${kind} are found by their secret, which is nowhere stored`, async () => {
        const { key, secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind, name: 'one' }))
        expect(directory.findKey(secret)).to.equal(key)
        expect(key).to.deep.include({ kind, name: 'one', last4: secret.slice(-4), revokedAt: null, exposed: false })
        const log = await one.stream.read(0, 100)
        expect(log.map(({ payload }) => Buffer.from(payload).toString()).join()).to.not.include(secret)
        expect(JSON.stringify(directory.keys(workspace.id))).to.not.include(secret.slice(key.prefix.length, -4))
      })
    }

    it('have the least scope unless more is asked for, and never more than their kind', async () => {
      const create = (kind: 'api' | 'logs', scopes?: readonly ('traces:read' | 'logs:write')[]) =>
        directory.createKey({ workspaceId: workspace.id, kind, ...(scopes === undefined ? {} : { scopes }) })
      expect(valueOf(await create('api')).key.scopes).to.deep.equal(['traces:read'])
      expect(valueOf(await create('api', ['logs:write'])).key.scopes).to.deep.equal(['logs:write'])
      expect((await create('logs', ['traces:read'])).ok).to.equal(false)
      expect((await create('api', [])).ok).to.equal(false)
      expect(valueOf(await create('api', ['logs:write', 'logs:write'])).key.scopes).to.deep.equal(['logs:write'])
    })

    it('are found neither by a guess, nor by a well-formed one that was never made', async () => {
      expect(directory.findKey('')).to.equal(undefined)
      expect(directory.findKey('tt_')).to.equal(undefined)
      expect(directory.findKey(createKeySecret('tracing', (bytes) => new Uint8Array(bytes)))).to.equal(undefined)
    })

    it('are not looked up when their form is wrong: not even one whose hash is there', async () => {
      const hash = hashKey(pepper, 'tt_ill-formed')
      const planted = {
        workspaceId: workspace.id,
        keyId: 'k1',
        kind: 'tracing',
        scopes: ['traces:write'],
        name: '',
      } as const
      const shown = { prefix: 'tt_', last4: 'rmed', origins: [], hash, by: null }
      const event = sealDirectoryEvent(
        { type: 'directory.key.created', ...planted, ...shown },
        one.clock(),
        'e'.repeat(32),
      )
      const { last } = await one.stream.append([event])
      await directory.followed(last, 60_000)
      expect(directory.key('k1')?.last4, 'it is in the view').to.equal('rmed')
      expect(directory.findKey('tt_ill-formed')).to.equal(undefined)
    })

    it('change only by events of their own workspace', async () => {
      const { key, secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
      const other = await createWorkspace(directory, 'Other')
      const foreign = { type: 'directory.key.revoked', workspaceId: other.id, keyId: key.id, by: null } as const
      const { last } = await one.stream.append([sealDirectoryEvent(foreign, one.clock(), 'e'.repeat(32))])
      await directory.followed(last, 60_000)
      expect(directory.findKey(secret)?.revokedAt).to.equal(null)
    })

    it('that are revoked say so, for ever, from the first time', async () => {
      const { key, secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
      one.clock.advance(5)
      valueOf(await directory.revokeKey({ workspaceId: workspace.id, keyId: key.id }))
      const revokedAt = one.clock()
      one.clock.advance(5)
      const head = await one.stream.head()
      valueOf(await directory.revokeKey({ workspaceId: workspace.id, keyId: key.id }))
      expect(directory.findKey(secret)?.revokedAt).to.equal(revokedAt)
      expect(await one.stream.head(), 'written once').to.equal(head)
      const again = { type: 'directory.key.revoked', workspaceId: workspace.id, keyId: key.id, by: null } as const
      const { last } = await one.stream.append([sealDirectoryEvent(again, one.clock(), 'f'.repeat(32))])
      await directory.followed(last, 60_000)
      expect(directory.findKey(secret)?.revokedAt, 'by two processes').to.equal(revokedAt)
    })

    it('of another workspace can be neither revoked nor changed', async () => {
      const { key, secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'publishable' }))
      const other = await createWorkspace(directory, 'Other')
      const which = { workspaceId: other.id, keyId: key.id }
      const absent = { workspaceId: other.id, keyId: 'k0000000000000000' }
      expect(await directory.revokeKey(which)).to.deep.equal(await directory.revokeKey(absent))
      expect((await directory.changeOrigins({ ...which, origins: ['https://evil.example'] })).ok).to.equal(false)
      expect(directory.findKey(secret)).to.deep.include({ revokedAt: null, origins: [] })
    })

    it('that are publishable may be bound to origins', async () => {
      const create = (kind: 'publishable' | 'logs', origins: readonly string[]) =>
        directory.createKey({ workspaceId: workspace.id, kind, origins })
      const twice = ['https://Shop.example/', 'http://localhost:3000', 'https://shop.example']
      const { key } = valueOf(await create('publishable', twice))
      expect(key.origins).to.deep.equal(['https://shop.example', 'http://localhost:3000'])
      const changed = { workspaceId: workspace.id, keyId: key.id, origins: ['https://new.example'] }
      expect(valueOf(await directory.changeOrigins(changed)).origins).to.deep.equal(['https://new.example'])
      for (const wrong of [
        'shop.example',
        'https://shop.example/path',
        'null',
        '*',
        'https://*.shop.example',
        'ftp://x.example',
        'javascript:alert(1)',
      ]) {
        expect((await create('publishable', [wrong])).ok, wrong).to.equal(false)
      }
      expect((await create('logs', ['https://shop.example'])).ok).to.equal(false)
    })

    it('that were seen in a browser are flagged, with one audit entry', async () => {
      const { key } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
      await Promise.all([1, 2, 3].map(() => directory.flagExposed(key, 'rum ingest from https://shop.example')))
      await directory.flagExposed(key, 'again')
      expect(directory.keys(workspace.id)[0]?.exposed).to.equal(true)
      const log = await one.stream.read(0, 100)
      expect(log.filter(({ type }) => type === 'directory.key.exposed')).to.have.length(1)
    })
  })

  describe('the audit trail', () => {
    it('has an entry of each export', async () => {
      const ann = await user()
      const exported = { workspaceId: workspace.id, userId: ann.id, query: 'level>=warn', format: 'csv' }
      await directory.recordExport(exported)
      const [last] = (await one.stream.read(0, 100)).slice(-1)
      expect(last).to.deep.include({ type: 'directory.logs.exported', workspaceId: workspace.id })
      expect(JSON.parse(Buffer.from(last!.payload).toString())).to.deep.equal(exported)
    })

    it('has refused sign-ins, a few an hour of each account, the rest as a count', async () => {
      const ann = await user()
      for (let at = 0; at < 100; at++) await directory.recordFailedSignIn({ userId: ann.id, address: '192.0.2.1' })
      await directory.recordFailedSignIn({ userId: null, address: '192.0.2.1' })
      one.clock.advance(3_600_000)
      await directory.recordFailedSignIn({ userId: 'u0000000000000000', address: '192.0.2.1' })
      await directory.recordFailedSignIn({ userId: ann.id, address: '192.0.2.2' })
      const failed = (await one.stream.read(0, 1_000)).filter(({ type }) => type === 'directory.signIn.failed')
      const counts = failed.map(({ payload }) => JSON.parse(Buffer.from(payload).toString()) as JsonObject)
      expect(counts.map(({ userId, count }) => (userId === ann.id ? count : 0))).to.deep.equal([
        1, 1, 1, 1, 1, 0, 0, 1, 95,
      ])
      expect(counts.slice(-3).map(({ address }) => address)).to.deep.equal(['192.0.2.1', '192.0.2.2', 'various'])
    })

    it('has so many refused sign-ins an hour, of however many accounts, and counts the rest', async () => {
      const refuse = (n: number) => directory.recordFailedSignIn({ userId: `u${hex(n)}`, address: '192.0.2.1' })
      const hex = (n: number): string => n.toString(16).padStart(16, '0')
      for (let n = 0; n < 300; n++) await refuse(n)
      const failed = async () =>
        (await one.stream.read(0, 1_000)).filter(({ type }) => type === 'directory.signIn.failed')
      expect(await failed()).to.have.length(100)
      one.clock.advance(3_600_000)
      await refuse(299)
      const countsFrom = async (place: number) =>
        (await failed())
          .slice(place)
          .map(({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as JsonObject)['count'])
      expect(await countsFrom(100)).to.deep.equal([1, 1])
      // Of one that is crowded out in the next hour too, both are counted into the first that is written.
      for (let n = 0; n < 100; n++) await refuse(n)
      await refuse(298)
      const written = (await failed()).length
      one.clock.advance(3_600_000)
      await refuse(298)
      expect(await countsFrom(written)).to.deep.equal([1, 2])
    })

    it('does not grow with what nobody has signed in as, all day long', async () => {
      for (let minute = 0; minute < 24 * 60; minute++) {
        for (let at = 0; at < 20; at++) await directory.recordFailedSignIn({ userId: null, address: `192.0.2.${at}` })
        one.clock.advance(60_000)
      }
      const failed = (await one.stream.read(0, 10_000)).filter(({ type }) => type === 'directory.signIn.failed')
      expect(failed).to.have.length.within(24, 50)
    })
  })

  it('hashes keys with its own pepper', async () => {
    const { key, secret } = valueOf(await directory.createKey({ workspaceId: workspace.id, kind: 'logs' }))
    const [event] = (await one.stream.read(0, 100)).filter(({ type }) => type === 'directory.key.created')
    const { hash } = JSON.parse(Buffer.from(event!.payload).toString()) as { hash: string }
    expect(hash).to.equal(hashKey(pepper, secret))
    expect(Object.keys(key)).to.not.include('hash')
  })
})
