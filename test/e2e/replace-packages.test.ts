import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { startProcess, type ServerProcess } from '../support/server-process.ts'

const ours = ['src', 'projections', 'streams', 'package.json', 'package-lock.json', 'tsconfig.json']

describe('a replacement after an upgrade that brings other packages', () => {
  let folder: string
  let server: ServerProcess | undefined

  /** The sources at another place, with a lockfile of their own and the packages of here. */
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-upgrade-'))
    for (const name of ours) cpSync(name, join(folder, name), { recursive: true })
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  })
  after(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true })
  })

  it('is not begun: the worker goes on, and the operator is told what to do', async () => {
    const argv = [join(folder, 'src', 'main.ts'), '--port', '0', '--host', '127.0.0.1']
    const { child, printed, lines } = (server = startProcess(argv, { THROUGHLINE_DATA: join(folder, 'data') }))
    const listening = await printed(/^Throughline listening on http\S+/, 0)
    const baseUrl = /http:\S+/.exec(listening)?.[0] ?? ''
    const heard = async (line: RegExp): Promise<string> => {
      const said = printed(line)
      child.kill('SIGHUP')
      return await said
    }
    await heard(/^worker \d+ has taken over/)

    appendFileSync(join(folder, 'package-lock.json'), '\n')
    const begun = (): number => lines.filter((line) => /^worker \d+ (serves|has taken over)/.test(line)).length
    expect(await heard(/^the worker is not replaced/)).to.include('npm start')
    expect((await fetch(`${baseUrl}/app/sign-in`)).status).to.equal(200)
    expect(begun()).to.equal(2)
  })
})
