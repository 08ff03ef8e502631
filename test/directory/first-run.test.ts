import { randomBytes } from 'node:crypto'
import {
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { describeFirstRun, prepareFirstRun, readFirstRun, type FirstRun } from '#src/directory/first-run.ts'
import { keyKinds } from '#src/directory/keys.ts'
import type { Stream } from '#streams/stream.ts'
import { newStream, openDirectory, type Opened } from './harness.ts'

const baseUrl = 'http://localhost:8080'

describe('first run', () => {
  let dataFolder: string
  let one: Opened
  const prepare = ({ directory }: Pick<Opened, 'directory'> = one): Promise<FirstRun | undefined> =>
    prepareFirstRun({ directory, dataFolder, baseUrl, random: randomBytes })
  const files = (): string[] => readdirSync(dataFolder).sort()
  beforeEach(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-first-'))
    one = await openDirectory()
  })
  afterEach(async () => {
    await one.directory.close()
    rmSync(dataFolder, { recursive: true, force: true })
  })

  /** Ends right after it has written its events. */
  const openDying = (stream: Stream): Promise<Opened> =>
    openDirectory({
      stream: {
        ...stream,
        append: async (...args) => {
          await stream.append(...args)
          throw new Error('killed')
        },
      },
    })

  async function expectToWork(firstRun: FirstRun | undefined, { directory }: Opened): Promise<void> {
    const workspace = directory.workspaceNamed('default')
    expect(workspace?.plan.name).to.equal('pro')
    const { email = '', password = '' } = firstRun?.sign_in ?? {}
    expect(email).to.equal('owner@localhost')
    const owner = await directory.authenticate(email, password)
    expect(owner?.workspaceIds).to.deep.equal([workspace?.id])
    for (const kind of keyKinds) {
      const key = directory.findKey(firstRun?.keys[kind] ?? '')
      expect(key, kind).to.deep.include({ kind, workspaceId: workspace?.id, revokedAt: null })
    }
  }

  it('makes a workspace, an owner and a key of each kind, and writes them down for the owner only', async () => {
    const firstRun = await prepare()
    await expectToWork(firstRun, one)
    expect(Object.keys(firstRun ?? {})).to.deep.equal(['base_url', 'workspace', 'sign_in', 'keys'])
    expect(firstRun).to.deep.include({ base_url: baseUrl, workspace: 'default' })
    expect(files()).to.deep.equal(['first-run.json'])
    const file = join(dataFolder, 'first-run.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).to.deep.equal(firstRun)
    expect(readFirstRun(dataFolder)).to.deep.equal(firstRun)
    expect(statSync(file).mode & 0o777).to.equal(0o600)
  })

  it('happens once', async () => {
    await prepare()
    const before = await one.stream.head()
    expect(await prepare()).to.equal(undefined)
    expect(await one.stream.head()).to.equal(before)
  })

  it('does not happen where there is a workspace already', async () => {
    await one.directory.createWorkspace({ name: 'acme', plan: 'free' })
    expect(await prepare()).to.equal(undefined)
    expect(files()).to.deep.equal([])
    const wanted = { name: 'another', plan: 'pro', email: 'ann@acme.example', password: 'a long password' }
    expect((await one.directory.createInstallation(wanted, () => expect.fail('no keys'))).ok).to.equal(false)
  })

  it('leaves alone what another process has written down before its events', async () => {
    const theirs = 'first-run.0123456789abcdef.pending'
    writeFileSync(join(dataFolder, theirs), '')
    const lost = { ok: false, error: { code: 'exists', field: 'workspace', detail: '' } } as const
    await prepare({ directory: { ...one.directory, createInstallation: async () => lost } })
    expect(files()).to.deep.equal([theirs])
    await prepare()
    expect(files()).to.deep.equal(['first-run.json'])
  })

  it('of two processes at once is one', async () => {
    const other = await openDirectory({ stream: one.stream })
    const outcomes = await Promise.all([prepare(one), prepare(other)])
    const firstRuns = outcomes.filter((outcome) => outcome !== undefined)
    expect(firstRuns).to.have.length(1)
    await one.directory.followed(await one.stream.head(), 60_000)
    await expectToWork(readFirstRun(dataFolder), one)
    expect(files()).to.deep.equal(['first-run.json'])
    await other.directory.close()
  })

  it('that stopped before its events were written begins anew', async () => {
    const stream = newStream()
    const dying = await openDirectory({
      stream: { ...stream, append: () => Promise.reject(new Error('killed')) },
    })
    expect(await prepare(dying).catch((error: Error) => error.message)).to.equal('killed')
    expect(files()[0]).to.match(/\.pending$/)
    expect(statSync(join(dataFolder, files()[0] ?? '')).mode & 0o777).to.equal(0o600)
    const next = await openDirectory({ stream })
    await expectToWork(await prepare(next), next)
    expect(files()).to.deep.equal(['first-run.json'])
    await dying.directory.close()
    await next.directory.close()
  })

  it('that stopped after its events were written is finished: what it wrote down is what works', async () => {
    const stream = newStream()
    const dying = await openDying(stream)
    expect(await prepare(dying).catch((error: Error) => error.message)).to.equal('killed')
    const next = await openDirectory({ stream })
    const head = await stream.head()
    await expectToWork(await prepare(next), next)
    expect(await stream.head(), 'nothing made twice').to.equal(head)
    expect(files()).to.deep.equal(['first-run.json'])
    await expectToWork(readFirstRun(dataFolder), next)
    await dying.directory.close()
    await next.directory.close()
  })

  it('that stopped then is kept, and said to be unreadable, while what it wrote down cannot be read', async () => {
    const stream = newStream()
    const dying = await openDying(stream)
    await prepare(dying).catch(() => undefined)
    const [pending = ''] = files()
    const file = join(dataFolder, pending)
    renameSync(file, join(dataFolder, 'elsewhere'))
    // Leads to itself.
    symlinkSync(pending, file)
    const next = await openDirectory({ stream })
    expect(await prepare(next).catch((error: Error) => error.name)).to.equal('PermanentError')
    rmSync(file)
    renameSync(join(dataFolder, 'elsewhere'), file)
    await expectToWork(await prepare(next), next)
    await dying.directory.close()
    await next.directory.close()
  })

  it('is told with the sign-in address and a line that sends a real span', async () => {
    const firstRun = await prepare()
    const text = describeFirstRun(firstRun as FirstRun, 1_800_000_000_000, randomBytes)
    expect(text).to.include(`${baseUrl}/app/sign-in`).and.include(firstRun?.sign_in.password)
    for (const kind of keyKinds) expect(text).to.include(firstRun?.keys[kind])
    const [, url, key, body = ''] =
      /curl -fsS (\S+) -H 'Authorization: Bearer (\S+)' -H 'Content-Type: application\/json' -d '([^']*)'/.exec(text) ??
      []
    expect(url).to.equal(`${baseUrl}/api/traces/v1/otlp`)
    expect(key).to.equal(firstRun?.keys.tracing)
    type Sent = { resourceSpans: [{ scopeSpans: [{ spans: [Record<string, unknown>] }] }] }
    const [span] = (JSON.parse(body) as Sent).resourceSpans[0].scopeSpans[0].spans
    expect(span).to.deep.include({ startTimeUnixNano: '1799999999880000000', endTimeUnixNano: '1800000000000000000' })
    expect(span['traceId']).to.match(/^[0-9a-f]{32}$/)
    expect(span['spanId']).to.match(/^[0-9a-f]{16}$/)
  })
})
