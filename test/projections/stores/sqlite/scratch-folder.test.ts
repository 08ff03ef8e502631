import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { createScratchFolder, removeStale } from '#projections/stores/sqlite/scratch-folder.ts'

describe('folders of processes’ own builds', () => {
  let parent: string
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'throughline-scratch-'))
  })
  afterEach(() => rmSync(parent, { recursive: true }))

  it('stay as long as somebody has them, and go with whoever comes next', () => {
    const { folder, remove } = createScratchFolder(parent)
    mkdirSync(join(parent, 'builds-killed', 'index'), { recursive: true })
    removeStale(parent)
    expect(readdirSync(parent).map((name) => join(parent, name))).to.deep.equal([folder])
    const other = createScratchFolder(parent)
    expect(existsSync(folder)).to.equal(true)
    remove()
    other.remove()
    expect(readdirSync(parent)).to.deep.equal([])
  })

  it('are not taken for left ones by others that begin at the same moment', async () => {
    const lost = Array.from({ length: 4 }, async () => {
      const worker = new Worker(new URL('make-scratch-folders.ts', import.meta.url), { workerData: parent })
      return await new Promise<number>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
      })
    })
    expect(await Promise.all(lost)).to.deep.equal([0, 0, 0, 0])
    expect(readdirSync(parent)).to.deep.equal([])
  })
})
