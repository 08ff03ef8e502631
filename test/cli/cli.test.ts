import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { verbs } from '#src/cli/verbs.ts'
import type { CliServices } from '#src/cli/services.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createServices, useInstallation } from './harness.ts'

describe('command line', () => {
  const { dataFolder, run, json, serverSees } = useInstallation()

  const createAcme = (plan = 'free') =>
    json('workspace', 'create', 'acme', '--plan', plan) as Promise<{ id: Workspace['id'] }>

  describe('workspaces', () => {
    it('are created, with a change that the running server follows', async () => {
      const created = await createAcme('pro')
      expect(created).to.include({ name: 'acme', plan: 'pro' })
      expect(await serverSees((directory) => directory.workspace(created.id)?.plan.name)).to.equal('pro')
    })

    it('are on the plan free unless said otherwise', async () => {
      expect(await json('workspace', 'create', 'acme')).to.include({ plan: 'free' })
    })

    it('change their plan, by name or id', async () => {
      const { id } = await createAcme()
      expect(await json('workspace', 'plan', 'acme', 'pro')).to.include({ id, plan: 'pro' })
      expect(await serverSees((directory) => directory.workspace(id)?.plan.name)).to.equal('pro')
      expect(await json('workspace', 'plan', id, 'free')).to.include({ plan: 'free' })
      const { code, out, err } = await run(['workspace', 'plan', 'acme', 'gold'])
      expect([code, out]).to.deep.equal([1, ''])
      expect(err).to.include('There is no plan "gold"; known: free, pro')
    })

    it('are listed', async () => {
      const { id } = await createAcme()
      const { workspaces } = (await json('workspace', 'list')) as { workspaces: object[] }
      expect(workspaces).to.have.length(1)
      expect(workspaces[0]).to.include({ id, name: 'acme', plan: 'free' })
      const { out } = await run(['workspace', 'list'])
      expect(out).to.match(/^NAME\s+ID\s+PLAN\s+CREATED\nacme\s+w[0-9a-f]{16}\s+free\s+2\d{3}-/)
    })
  })

  describe('keys', () => {
    beforeEach(() => createAcme())

    for (const kind of ['publishable', 'logs', 'tracing', 'api']) {
      it(`of kind ${kind} are created, listed without their secret, and revoked`, async () => {
        const argv = ['key', 'create', '--workspace', 'acme', '--kind', kind, '--name', 'mine']
        const { id, secret, ...key } = (await json(...argv)) as { id: string; secret: string }
        expect(await serverSees((directory) => directory.findKey(secret)?.id)).to.equal(id)
        const { keys } = (await json('key', 'list', '--workspace', 'acme')) as { keys: object[] }
        expect(keys).to.deep.equal([{ id, ...key }])
        expect((await run(['key', 'list', '--workspace', 'acme'])).out).to.not.include(secret)
        expect((await json('key', 'revoke', id))['revoked_at']).to.match(/^2\d{3}-/)
        expect(await serverSees((directory) => directory.findKey(secret)?.revokedAt)).to.be.a('number')
      })
    }

    it('print their secret alone on the first line, for scripts', async () => {
      const { out } = await run(['key', 'create', '--workspace', 'acme', '--kind', 'tracing'])
      expect(out.split('\n')[0]).to.match(/^tt_[0-9A-Za-z]{36}$/)
    })

    it('take origins and scopes', async () => {
      const create = (...more: readonly string[]) => json('key', 'create', '--workspace', 'acme', ...more)
      const publishable = await create(
        '--kind',
        'publishable',
        '--origin',
        'https://a.example',
        '--origin',
        'http://b.example',
      )
      expect(publishable['origins']).to.deep.equal(['https://a.example', 'http://b.example'])
      const api = await create('--kind', 'api', '--scope', 'traces:read', '--scope', 'logs:write')
      expect(api['scopes']).to.deep.equal(['traces:read', 'logs:write'])
      expect(
        (await run(['key', 'create', '--workspace', 'acme', '--kind', 'logs', '--scope', 'traces:read'])).code,
      ).to.equal(2)
      expect(
        (await run(['key', 'create', '--workspace', 'acme', '--kind', 'logs', '--origin', 'https://a.example'])).code,
      ).to.equal(1)
    })

    it('are rotated: a new one is shown, and the old one works on for as long as is said', async () => {
      const created = (await json('key', 'create', '--workspace', 'acme', '--kind', 'tracing', '--name', 'mine')) as {
        id: string
        secret: string
      }
      const before = Date.now()
      const rotated = await json('key', 'rotate', created.id, '--overlap', '90m')
      expect(rotated).to.deep.include({ kind: 'tracing', name: 'mine', works_until: null })
      const until = Date.parse(String((rotated['rotated'] as Readonly<Record<string, unknown>>)['works_until']))
      expect(until - 90 * 60_000).to.be.within(before, Date.now())
      const secrets = [created.secret, String(rotated['secret'])]
      const states = await serverSees((directory) => secrets.map((each) => directory.findKey(each)?.revokedAt))
      expect(states).to.deep.equal([null, null])
      expect((await run(['key', 'list', '--workspace', 'acme'])).out).to.include('works until 2')
      const again = await run(['key', 'rotate', created.id])
      expect([again.code, again.err]).to.deep.equal([
        1,
        `throughline: This key has been rotated already; rotate the one that took its place, tt_…${String(rotated['secret']).slice(-4)}.\n`,
      ])
      const last = await run(['key', 'rotate', String(rotated['id']), '--overlap', '0'])
      expect(last.out.split('\n')[0]).to.match(/^tt_[0-9A-Za-z]{36}$/)
      expect(await serverSees((directory) => directory.findKey(secrets[1] ?? '')?.revokedAt)).to.be.a('number')
      expect((await run(['key', 'rotate', created.id, '--overlap', 'soon'])).code).to.equal(2)
    })

    it('that do not exist can be neither revoked nor rotated', async () => {
      expect((await run(['key', 'rotate', 'k0'])).err).to.include('There is no key "k0"')
      const { code, err } = await run(['key', 'revoke', 'k0', '--json'])
      expect(code).to.equal(1)
      expect(JSON.parse(err)).to.have.nested.property('error.code', 'unknown')
    })
  })

  describe('first-run', () => {
    it('makes everything that a newcomer needs, once, and keeps it in the data folder', async () => {
      const argv = ['first-run', '--base-url', 'http://front:1']
      const { out } = await run(argv)
      expect(out).to.include('http://front:1/app/sign-in')
      const { out: exported } = await run(['env', '--json'])
      const { BASE_URL, API_KEY } = JSON.parse(exported) as Record<string, string>
      expect(BASE_URL).to.equal('http://front:1')
      expect(out).to.include(API_KEY)
      expect(await serverSees((directory) => directory.findKey(API_KEY ?? '')?.kind)).to.equal('api')
      expect((await run(argv)).out).to.equal('There is a workspace already: nothing was made.\n')
    })

    it('asks for the address that others will know', async () => {
      expect((await run(['first-run'])).err).to.include('--base-url is missing')
      for (const address of ['nope', 'front:1', 'ftp://front']) {
        const { code, err } = await run(['first-run', '--base-url', address])
        expect([code, err.split('\n', 1)[0]]).to.deep.equal([
          2,
          'throughline: --base-url is an address, http://… or https://…',
        ])
      }
      expect((await json('first-run', '--base-url', 'http://front:1/'))['made']).to.equal(true)
      expect((await json('env'))['BASE_URL']).to.equal('http://front:1')
    })
  })

  describe('env', () => {
    it('prints what the first run wrote, safe for a shell', async () => {
      const firstRun = {
        base_url: 'http://localhost:1',
        workspace: 'default',
        sign_in: { email: 'owner@localhost', password: "it's; $(rm)" },
        keys: { publishable: 'pk', logs: 'lt', tracing: 'tt', api: 'wk' },
      }
      expect((await run(['env'])).code).to.equal(1)
      writeFileSync(join(dataFolder(), 'first-run.json'), JSON.stringify(firstRun))
      const { out } = await run(['env'])
      expect(out.split('\n')).to.include("export TRACES_TOKEN='tt'")
      const shell = spawn('sh', ['-c', `${out}\nprintf '%s|%s' "$OWNER_PASSWORD" "$BASE_URL"`])
      let printed = ''
      shell.stdout.on('data', (chunk) => (printed += String(chunk)))
      await once(shell, 'close')
      expect(printed).to.equal("it's; $(rm)|http://localhost:1")
      writeFileSync(join(dataFolder(), 'first-run.json'), '{')
      expect((await run(['env'])).err).to.include('is damaged: make keys with "throughline key create"')
      rmSync(join(dataFolder(), 'first-run.json'))
      // Leads to itself.
      symlinkSync('first-run.json', join(dataFolder(), 'first-run.json'))
      expect((await run(['env'])).err).to.include('run this as the user that the server runs as')
    })
  })

  describe('mistakes', () => {
    /** The program itself, with the engines that its settings name. */
    const runMain = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      spawnSync(process.execPath, ['src/main.ts', ...argv], { encoding: 'utf8', env: { ...process.env, ...env } })

    const mistakes: readonly (readonly [argv: string, says: string])[] = [
      ['wrkspace create x', 'did you mean workspace?'],
      ['workspace crate x', 'did you mean workspace create?'],
      ['workspace', 'workspace needs a verb; known: create, plan, list'],
      ['workspace --plan free', 'workspace needs a verb; did you mean workspace plan?'],
      ['workspace dance', 'workspace has no verb "dance"; known: create, plan, list'],
      ['keys', 'did you mean key?'],
      ['dance', 'there is no verb "dance"'],
      ['workspace create', 'NAME is missing'],
      ['workspace create a b', '"b" is one argument too many'],
      ['workspace create a --plna free', 'did you mean --plan?'],
      ['workspace create a --plan', 'plan'],
      ['key create --workspace a', '--kind is missing'],
      ['key create --kind logs', '--workspace is missing'],
      ['key create --workspace a --kind gold', '--kind is one of publishable, logs, tracing, api'],
      ['key revoke', 'ID is missing'],
      ['workspace list --data=', '--data is empty'],
      ['workspace create caf\ufffd', 'is not UTF-8'],
      ['key rotate k --overlap -5', '--overlap needs a value; one that begins with a dash is written --overlap=-'],
      ['key rotate k --overlap soon', '--overlap is a time such as 24h, 90m or 0'],
      ['key create --workspace a --kind logs --scope traces:read', 'this kind of key may have logs:write'],
      ['user create a@a.example --workspace a --role god', '--role god is neither owner nor member'],
      ['verify all --sample', '--sample needs a value'],
      ['rebuild all --throttle 0x10', '--throttle is a number above 0'],
      ['rebuild all --throttle 0b1', '--throttle is a number above 0'],
      ['rebuild all --throttle 1e3000', '--throttle is a number above 0'],
      ['verify all --workspace a --sample 0.1', '--sample some at random: choose one'],
      ['workspace create a --plan free --plan pro', '--plan is given twice'],
      ['workspace erase a --confirm a --confirm a', '--confirm is given twice'],
      ['workspace erase a --confirm b', '--confirm b is not a: nothing was changed'],
      ['replay --from 2h --to 3h', '--from is after --to'],
      ['replay --from 0/8192 --to 4096', '--from is after --to'],
      ['replay --from 1/4096 --to 2/8192', '--from and --to are of different partitions'],
      ['replay --from 7/4096', '--from: partition 7 is none of those meant: 0'],
      ['replay --to-url http://127.0.0.1:1', '--to-url needs --workspace'],
      ['replay --to-url http://127.0.0.1:1 --out events', 'two ways: choose one'],
    ]
    for (const [argv, says] of mistakes) {
      it(`are told with what would be right: ${argv}`, async () => {
        const { code, out, err } = await run(argv.split(' '))
        expect(err).to.include(says)
        expect([code, out]).to.deep.equal([2, ''])
        expect(await serverSees((directory) => directory.workspaces())).to.deep.equal([])
      })
    }

    const codeOf = (line: string): unknown => (JSON.parse(line) as { error: { code: unknown } }).error.code

    it('are one line of JSON where JSON is asked for, with the same exit codes', async () => {
      for (const [argv] of mistakes) {
        const { code, out, err } = await run([...argv.split(' '), '--json'])
        expect([code, out, codeOf(err)], argv).to.deep.equal([2, '', 'usage'])
        expect(err.indexOf('\n'), argv).to.equal(err.length - 1)
      }
      const failing: CliServices = {
        ...createServices(),
        openDirectory: () => Promise.reject(new PermanentError({ operation: 'open', subject: 'it', hint: 'do that' })),
      }
      const { code, out, err } = await run(['workspace', 'list', '--json'], { services: failing })
      expect([code, out, JSON.parse(err)]).to.deep.equal([
        1,
        '',
        { error: { code: 'failed', detail: 'open it (do that)' } },
      ])
    })

    it('are so too where no verb was reached', () => {
      const settings = runMain(['workspace', 'list', '--json'], { NATS_URL: 'nats://127.0.0.1:1' })
      expect([settings.status, settings.stdout, codeOf(settings.stderr)]).to.deep.equal([2, '', 'failed'])
      const nowhere = runMain(['verify', 'all', '--json', '--data', join(dataFolder(), 'nowhere')])
      expect([nowhere.status, nowhere.stdout, codeOf(nowhere.stderr)]).to.deep.equal([2, '', 'failed'])
    })

    it('of the plan name the plans there are', async () => {
      const { code, err } = await run(['workspace', 'create', 'x', '--plan', 'gold'])
      expect(code).to.equal(1)
      expect(err).to.include('free, pro')
    })

    it('of a workspace are not taken for all of them', async () => {
      for (const verb of ['verify logs', 'rebuild logs', 'rebuild logs --dry-run', 'replay', 'key list']) {
        const { out, err } = await run([...verb.split(' '), '--workspace', 'nobody'])
        expect([out, err], verb).to.deep.equal([
          '',
          'throughline: There is no workspace "nobody"; "throughline workspace list" shows them.\n',
        ])
      }
    })

    it('of the folder make no new one, nor take the one that somebody stands in for it', async () => {
      for (const empty of ['', ' '])
        expect(runMain(['workspace', 'list'], { THROUGHLINE_DATA: empty }).stderr).to.include('the data folder ./data')
      const nowhere = join(dataFolder(), 'nowhere')
      const { status, stderr } = runMain(['workspace', 'list', '--data', nowhere])
      expect(status).to.equal(1)
      expect(stderr).to.match(/^throughline: open the data folder .*nothing is in it \(.*--data\)\n$/)
      expect(existsSync(nowhere)).to.equal(false)
    })

    it('of the folder are failures of every verb that looks into it', () => {
      const empty = join(dataFolder(), 'empty')
      mkdirSync(empty)
      const looks = ['verify all', 'rebuild logs', 'rollback logs', 'builds', 'status', 'dead-letters list', 'replay']
      for (const verb of looks) {
        const { status, stdout, stderr } = runMain([...verb.split(' '), '--data', empty])
        expect(stderr, verb).to.match(/^throughline: open the data folder .*nothing is in it \(.*--data\)\n$/)
        expect([status, stdout], verb).to.deep.equal([verb === 'verify all' ? 2 : 1, ''])
      }
      expect(readdirSync(empty)).to.deep.equal([])
    }).timeout(300_000)

    it('of what lies in a data folder are told, by the server too', () => {
      const beFile = (place: string): void => writeFileSync(place, 'x')
      const beFolder = (place: string): unknown => mkdirSync(place, { recursive: true })
      const wrong: readonly (readonly [name: string, make: (place: string) => unknown])[] = [
        ['', beFile],
        ['index', beFile],
        ['log/0.db', beFolder],
      ]
      for (const [number, [name, make]] of wrong.entries()) {
        const folder = join(dataFolder(), `wrong${number}`)
        if (name !== '') mkdirSync(folder)
        const place = join(folder, name)
        make(place)
        for (const argv of [['status'], ['--port=0']]) {
          const { status, stdout, stderr } = runMain([...argv, '--data', folder])
          expect([status, stdout], name).to.deep.equal([1, ''])
          expect(stderr.split(` ${place} (it is a `), name).to.have.length(2)
          expect(stderr, name).to.match(/^throughline: .*, and must be a f.*: move it away.*\n$/)
        }
      }
    }).timeout(300_000)

    it('of the settings of a cluster are told in one line', () => {
      const { status, stderr } = runMain(['workspace', 'list'], { NATS_URL: 'nats://127.0.0.1:1' })
      expect(status).to.equal(2)
      expect(stderr).to.match(/^throughline: NATS_URL is set and ELASTICSEARCH_URL is not.*\n$/)
    })
  })

  it('helps', async () => {
    for (const argv of [[], ['help'], ['--help'], ['-h']]) {
      const { code, out } = await run(argv)
      expect(code).to.equal(0)
      for (const name of ['workspace create', 'user add', 'key revoke', 'status', '--json'])
        expect(out).to.include(name)
    }
    expect((await run(['help', 'key'])).out)
      .to.include('key revoke')
      .and.not.include('workspace create')
    expect((await run(['key', 'create', '--help'])).out)
      .to.include('--origin')
      .and.not.include('key revoke')
  })

  it('says of words that no verb begins with that there is none, and which one may be meant', async () => {
    for (const [words, said] of [
      ['help nope', 'there is no verb "nope"'],
      ['--help statsu', 'there is no verb "statsu"; did you mean status?'],
      ['help key lst', 'key has no verb "lst"; did you mean key list?'],
    ] as const) {
      const { code, out, err } = await run(words.split(' '))
      expect([code, out, err], words).to.deep.equal([2, '', `throughline: ${said}\nTry: npx throughline help\n`])
    }
    expect(JSON.parse((await run(['help', 'nope', '--json'])).err)).to.have.nested.property('error.code', 'usage')
    const { out: all } = await run(['help'])
    for (const words of ['help help', 'help all', 'help --json', '--help --help', 'help version'])
      expect(await run(words.split(' ')), words).to.deep.equal({ code: 0, out: all, err: '' })
    expect((await run(['help', 'roll'])).out)
      .to.include('throughline rollback')
      .and.not.include('workspace create')
    expect((await run(['help', 'key', 'list', 'acme', '--json'])).out)
      .to.include('throughline key list')
      .and.not.include('key create')
  })

  it('helps whoever asks a server in place of starting it', () => {
    for (const argv of [
      ['ingest', '--help'],
      ['--port=0', '-h'],
    ]) {
      const { status, stdout } = spawnSync(process.execPath, ['src/main.ts', ...argv], { encoding: 'utf8' })
      expect([status, stdout.split('\n', 1)[0]]).to.deep.equal([
        0,
        'Usage: npx throughline VERB … [--json] [--data FOLDER]',
      ])
    }
  }).timeout(300_000)

  it('tells its version', async () => {
    for (const argv of [['--version'], ['-v'], ['version']]) {
      expect(await run(argv), argv.join(' ')).to.deep.include({ code: 0, err: '' })
      expect((await run(argv)).out).to.match(/^throughline \d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+\)\n$/)
    }
  })

  it('helps behind any verb, whatever else is missing, and behind the first word of some', async () => {
    for (const name of Object.keys(verbs)) {
      for (const flag of ['--help', '-h']) {
        const { code, out, err } = await run([...name.split(' '), flag])
        expect([code, err], `${name} ${flag}`).to.deep.equal([0, ''])
        expect(out.match(/^ {2}throughline /gm), `${name} ${flag}`).to.have.length(1)
        expect(out).to.include(`throughline ${name}`)
      }
    }
    const { code, out } = await run(['user', '--help'])
    expect(code).to.equal(0)
    expect(out).to.include('user create').and.include('user password').and.not.include('key create')
    expect((await run(['dance', '--help'])).err).to.include('there is no verb "dance"')
  })

  it('works as a process of its own, beside a running one, and ends although its input stays open', async () => {
    await createAcme()
    const argv = ['test/cli/program.ts', 'user', 'create', 'ann@acme.example', '--workspace', 'acme', '--json']
    const child = spawn(process.execPath, [...argv, '--data', dataFolder()], { stdio: ['pipe', 'pipe', 'inherit'] })
    let printed = ''
    child.stdout.on('data', (chunk) => (printed += String(chunk)))
    const [code] = (await once(child, 'close')) as [number]
    expect(code).to.equal(0)
    const { password } = JSON.parse(printed) as { password: string }
    expect(await serverSees((directory) => directory.authenticate('ann@acme.example', password))).to.not.equal(
      undefined,
    )
  }).timeout(300_000)
})
