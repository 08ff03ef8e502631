import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createFolderNames, looked } from '#projections/stores/sqlite/folder-names.ts'
import { TransientError } from '#src/lib/failure.ts'

describe('names in a folder', () => {
  let folder: string
  const long = new Date(Date.now() - 60_000)

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'throughline-names-'))
    await writeFile(join(folder, 'a'), '')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('are those that are there, of a folder that is not there none', async () => {
    const namesIn = createFolderNames()
    expect(namesIn(folder)).eql(['a'])
    expect(namesIn(join(folder, 'b'))).eql([])
    await mkdir(join(folder, 'b'))
    expect(namesIn(join(folder, 'b'))).eql([])
    await rm(folder, { recursive: true })
    expect(namesIn(folder)).eql([])
  })

  it('are asked for again where too many files are open, and not where the folder cannot be read', () => {
    const failing = (code: string) => () =>
      looked(folder, () => {
        throw Object.assign(new Error(code), { code })
      })
    expect(failing('EMFILE')).to.throw(TransientError, 'ulimit -n')
    expect(failing('EACCES')).to.throw('EACCES').and.not.be.instanceOf(TransientError)
  })

  it('are read once while the folder stays as it was', async () => {
    const namesIn = createFolderNames()
    await utimes(folder, long, long)
    const names = namesIn(folder)
    expect(names).eql(['a'])
    expect(namesIn(folder)).equal(names)
  })

  it('are read again when something has come or gone', async () => {
    const namesIn = createFolderNames()
    await utimes(folder, long, long)
    namesIn(folder)
    await writeFile(join(folder, 'b'), '')
    expect(namesIn(folder)).members(['a', 'b'])
    await utimes(folder, long, long)
    await rm(join(folder, 'a'))
    expect(namesIn(folder)).eql(['b'])
  })

  it('are read again after a change that the folder does not tell from the one before', async () => {
    const namesIn = createFolderNames()
    const now = new Date()
    await utimes(folder, now, now)
    namesIn(folder)
    await writeFile(join(folder, 'b'), '')
    await utimes(folder, now, now)
    expect(namesIn(folder)).members(['a', 'b'])
  })

  it('of something that is no folder are an error', async () => {
    expect(() => createFolderNames()(join(folder, 'a'))).throw(/ENOTDIR/)
  })
})
