import { expect } from 'chai'
import { passwordCharactersMin } from '#src/directory/passwords.ts'
import { useInstallation } from './harness.ts'

describe('users of the command line', () => {
  const { run, json, serverSees } = useInstallation()
  beforeEach(() => json('workspace', 'create', 'acme'))

  const canSignIn = (email: string, password: string): Promise<boolean> =>
    serverSees(async (directory) => (await directory.authenticate(email, password)) !== undefined)

  it('are created with a generated password, shown once', async () => {
    const user = (await json('user', 'create', 'ann@acme.example', '--workspace', 'acme')) as { password: string }
    expect(user).to.include({ email: 'ann@acme.example' })
    expect(user.password).to.match(/^[0-9A-Za-z]{20}$/)
    expect(await canSignIn('ann@acme.example', user.password)).to.equal(true)
  })

  it('are created with the password of standard input, which is not shown', async () => {
    const argv = ['user', 'create', 'ann@acme.example', '--workspace', 'acme', '--role', 'owner']
    const { code, out } = await run(argv, { input: 'from the pipe\nand more\n' })
    expect([code, out]).to.deep.equal([0, 'ann@acme.example is an owner of acme.\n'])
    expect(await canSignIn('ann@acme.example', 'from the pipe')).to.equal(true)
  })

  it('are created when standard input is a pipe that nobody writes to', async () => {
    const { code, out } = await run(['user', 'create', 'ann@acme.example', '--workspace', 'acme'], { input: null })
    expect(code).to.equal(0)
    expect(out).to.match(/shown this once: [0-9A-Za-z]{20}\n$/)
  })

  it('are not created with a short or missing password, a bad address, in no workspace, or twice', async () => {
    const argv = ['user', 'create', 'ann@acme.example', '--workspace', 'acme']
    const short = await run(argv, { input: 'short' })
    expect([short.code, short.err]).to.deep.equal([
      1,
      `throughline: The password must have at least ${passwordCharactersMin} characters.\n`,
    ])
    expect((await run([...argv, '--password-stdin'])).code).to.equal(2)
    expect((await run(['user', 'create', 'nobody', '--workspace', 'acme'])).code).to.equal(1)
    expect((await run(['user', 'create', 'ann@acme.example', '--workspace', 'other'])).err).to.include(
      'no workspace "other"',
    )
    expect((await run([...argv, '--role', 'god'])).code).to.equal(2)
    expect((await run(argv)).code).to.equal(0)
    expect((await run(argv)).err).to.include('user add EMAIL --workspace acme\n')
    await json('workspace', 'create', 'the shop')
    expect((await run([...argv.slice(0, 3), '--workspace', 'the shop'])).err).to.include("--workspace 'the shop'\n")
    expect(await serverSees((directory) => directory.userByEmail('ann@acme.example')?.workspaceIds.length)).to.equal(1)
  })

  it('are added to further workspaces', async () => {
    await json('user', 'create', 'ann@acme.example', '--workspace', 'acme')
    const { id } = (await json('workspace', 'create', 'second')) as { id: string }
    expect((await json('user', 'add', 'ann@acme.example', '--workspace', 'second'))['workspaces']).to.include(id)
    expect((await run(['user', 'add', 'bob@acme.example', '--workspace', 'second'])).code).to.equal(1)
  })

  it('are its owner as the first, a member after that unless it is said otherwise', async () => {
    const emails = ['ann@acme.example', 'bob@acme.example', 'eve@acme.example']
    const create = async (email: string, ...role: readonly string[]) =>
      (await json('user', 'create', email, '--workspace', 'acme', ...role))['role']
    expect(await create(emails[0]!)).to.equal('owner')
    expect(await create(emails[1]!)).to.equal('member')
    expect(await create(emails[2]!, '--role', 'owner')).to.equal('owner')
    await json('workspace', 'create', 'second')
    const add = async (email: string, ...role: readonly string[]) =>
      (await json('user', 'add', email, '--workspace', 'second', ...role))['role']
    expect(await add(emails[0]!)).to.equal('owner')
    expect(await add(emails[1]!)).to.equal('member')
    expect(await add(emails[2]!, '--role', 'owner')).to.equal('owner')
    await json('user', 'create', 'dan@acme.example', '--workspace', 'acme')
    expect((await run(['user', 'add', 'dan@acme.example', '--workspace', 'second', '--role', 'god'])).code).to.equal(2)
  })

  it('get another role, and are taken out; the last owner stays one', async () => {
    const emails = ['ann@acme.example', 'bob@acme.example']
    for (const email of emails) await json('user', 'create', email, '--workspace', 'acme')
    const [ann, bob] = emails as [string, string]
    const to = (verb: string, email: string, ...role: readonly string[]) =>
      run(['user', verb, email, '--workspace', 'acme', ...role])
    const rolesOf = () =>
      serverSees(({ members, workspaceNamed }) =>
        members(workspaceNamed('acme')!.id).map(({ email, role }) => `${email} ${role}`),
      )
    expect((await to('add', ann, '--role', 'owner')).out).to.equal('ann@acme.example is an owner of acme.\n')
    expect((await to('add', ann)).out).to.equal('ann@acme.example is an owner of acme.\n')
    for (const refused of [await to('add', ann, '--role', 'member'), await to('remove', ann)]) {
      expect(refused.code).not.to.equal(0)
      expect(refused.err).to.include('the last owner of the workspace: make another member an owner first')
    }
    expect(await rolesOf()).to.deep.equal(['ann@acme.example owner', 'bob@acme.example member'])
    expect((await to('add', bob, '--role', 'owner')).code).to.equal(0)
    expect((await to('add', ann, '--role', 'member')).out).to.equal('ann@acme.example is a member of acme.\n')
    expect((await to('remove', 'eve@acme.example')).err).to.include('There is no user "eve@acme.example"')
    expect((await to('remove', ann)).out).to.equal('ann@acme.example is no member of acme.\n')
    expect(await rolesOf()).to.deep.equal(['bob@acme.example owner'])
    expect((await to('remove', bob)).err).to.include('The last member of a workspace cannot be removed.')
  })

  it('get a new password', async () => {
    await json('user', 'create', 'ann@acme.example', '--workspace', 'acme')
    const { password } = (await json('user', 'password', 'ann@acme.example')) as { password: string }
    expect(await canSignIn('ann@acme.example', password)).to.equal(true)
    await run(['user', 'password', 'ann@acme.example'], { input: 'chosen by hand' })
    expect(await canSignIn('ann@acme.example', password)).to.equal(false)
    expect(await canSignIn('ann@acme.example', 'chosen by hand')).to.equal(true)
  })
})
