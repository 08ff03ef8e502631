import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { PermanentError } from '#src/lib/failure.ts'
import { joinFolder, lockFolder } from '#streams/sqlite/lock.ts'
import { unprivileged } from '#test/support/unprivileged.ts'
import { startProgram } from './programs/child.ts'

describe('the lock on the data folder', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'throughline-lock-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('keeps a second server out and names the first, until that one is gone, even by kill -9', async () => {
    const first = startProgram('hold-lock.ts', [folder])
    await first.printed(1)
    expect(first.lines).to.deep.equal(['held'])
    expect(() => lockFolder(folder)).to.throw(PermanentError, `process ${first.pid}`)
    await first.kill()
    lockFolder(folder).release()
  })

  it('is one in one process too, and can be released', () => {
    const lock = lockFolder(folder)
    expect(() => lockFolder(folder)).to.throw(PermanentError, `process ${process.pid}`)
    lock.release()
    lockFolder(folder).release()
  })

  it('has no journal beside it: a full disk would have no room for one, and the server would not start, not even to be searched', () => {
    const lock = lockFolder(folder)
    expect(readdirSync(folder).sort()).to.deep.equal(['lock', 'lock.pid', 'lock.workers'])
    lock.release()
  })

  it('leaves no file for a process id behind where there is no room for the id', async () => {
    const program = `
      const { lockFolder } = await import('#streams/sqlite/lock.ts')
      try {
        lockFolder(${JSON.stringify(folder)})
      } catch ({ message }) {
        console.log(message)
      }`
    const command = ['-c', 'ulimit -f 0 && exec "$0" --input-type=module -e "$1"', process.execPath, program]
    const { stdout } = await promisify(execFile)('sh', command)
    expect(stdout).to.match(/^lock data folder .*EFBIG/)
    expect(readdirSync(folder).sort()).to.deep.equal(['lock', 'lock.workers'])
  })

  it('leaves no process id behind, which may be another program’s when somebody signals it, nor takes that of who has the folder’s place', async () => {
    const [data, away] = [join(folder, 'data'), join(folder, 'away')]
    await mkdir(data)
    const pidIn = (where: string) => existsSync(join(where, 'lock.pid'))
    const lock = lockFolder(data)
    expect(pidIn(data)).to.equal(true)
    await rename(data, away)
    await mkdir(data)
    const other = lockFolder(data)
    lock.release()
    expect([pidIn(data), pidIn(away)]).to.deep.equal([true, true])
    other.release()
    expect(pidIn(data)).to.equal(false)
  })

  it('is no lock, and says so, where this user may only read its files: others could have it as well', async () => {
    await chmod(folder, 0o777)
    for (const name of ['lock', 'lock.workers']) {
      await writeFile(join(folder, name), '', { mode: 0o444 })
      const lock = () => unprivileged(() => lockFolder(folder))
      expect(lock).to.throw(
        PermanentError,
        `${join(folder, name)}: attempt to write a readonly database (this user may not`,
      )
      await rm(join(folder, name))
    }
  })

  it('says of a file of its own that is damaged which that is, and what can be done', async () => {
    for (const name of ['lock', 'lock.workers']) {
      const file = join(folder, name)
      await writeFile(file, Buffer.alloc(4_096, 0xa5))
      expect(() => lockFolder(folder)).to.throw(PermanentError, `${file}: file is not a database (this file is damaged`)
      await rm(file)
      lockFolder(folder).release()
    }
  })

  it('is had only when the last worker of an earlier server has gone, even by kill -9', async () => {
    const worker = startProgram('join-folder.ts', [folder])
    await worker.printed(1)
    expect(worker.lines).to.deep.equal(['joined'])
    const second = joinFolder(folder)
    const refused = (): unknown => expect(() => lockFolder(folder, 0)).to.throw(PermanentError, 'a worker of a server')
    refused()
    second.release()
    refused()
    await worker.kill()
    const lock = lockFolder(folder, 0)
    joinFolder(folder).release()
    lock.release()
  })

  it('makes no folder where there is none: one may have been moved while a worker of its server was started', () => {
    const gone = join(folder, 'gone')
    for (const hold of [joinFolder, lockFolder])
      expect(() => hold(gone)).to.throw(PermanentError, 'the folder must be there')
    expect(existsSync(gone)).to.equal(false)
  })

  it('tells whether the folder is still the one that is held: not one that was moved away, nor another in its place', async () => {
    const [data, away] = [join(folder, 'data'), join(folder, 'away')]
    await mkdir(data)
    const lock = lockFolder(data)
    lock.check()
    await rename(data, away)
    expect(() => lock.check()).to.throw(PermanentError, 'moved or removed while the server runs: put it back')
    await mkdir(data)
    lockFolder(data).release()
    expect(() => lock.check()).to.throw(PermanentError)
    await rm(data, { recursive: true })
    await rename(away, data)
    lock.check()
    lock.release()
  })
})
