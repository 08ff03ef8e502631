import { existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { expect } from 'chai'
import { foldersOf, type Folders } from '#src/compose/folders.ts'
import { mendDataFolder } from '#src/compose/mend.ts'
import { checkOwnLog, seenOf } from '#src/compose/own-log.ts'
import { sealBeginning } from '#src/events/allowance.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { indexUpTo, openLog, withIndex, writeLog } from './written-folder.ts'

describe('a data folder whose log is not the one that its indexes were folded from', () => {
  let folder: LogFolder
  let dataFolder: string
  let folders: Folders
  let told: string[]
  const tell = console.error

  /** Why it is refused. */
  const refusal = (): Promise<string> =>
    mendDataFolder(dataFolder).then(
      () => 'not at all',
      (error: Error) => error.message,
    )
  const expectRefused = async (found: string): Promise<void> => {
    const before = existsSync(folders.log.file) ? readFileSync(folders.log.file) : undefined
    const {
      log: { file: logFile },
      indexFolder,
    } = folders
    expect(await refusal()).to.equal(
      `start ${logFile} (${found}, and the indexes hold what the log before it said, up to position 12288: put that one back from a ` +
        `backup; or, to go on without what it held, move the indexes away (mv '${indexFolder}' '${indexFolder}.old') and start again)`,
    )
    expect(existsSync(logFile) ? readFileSync(logFile) : undefined, 'it is left as it is').to.deep.equal(before)
    expect(existsSync(folders.quarantineFolder)).to.equal(false)
    expect(await refusal(), 'again').to.include(found)
    renameSync(indexFolder, `${indexFolder}.old`)
    expect(await refusal(), 'without the indexes').to.equal('not at all')
  }

  beforeEach(async () => {
    folder = await makeLogFolder()
    dataFolder = folder.folder
    folders = foldersOf(dataFolder)
    told = []
    console.error = (line: string) => void told.push(line)
    await writeLog('directory', folders.directory.file, 1)
    const { epoch } = await writeLog('0', folders.log.file, 3)
    await indexUpTo(folders, epoch, 3 * 4_096)
  })
  afterEach(async () => {
    console.error = tell
    await folder.remove()
  })

  it('is started on where it is that one', async () => {
    expect([await refusal(), told]).to.deep.equal(['not at all', []])
  })

  it('is refused where the log was emptied, until the indexes are moved away', async () => {
    truncateSync(folders.log.file, 0)
    await expectRefused('it was emptied')
  })

  it('is refused where nothing of the log can be read', async () => {
    writeFileSync(folders.log.file, Buffer.alloc(40_000, 0xa5))
    await expectRefused('nothing of it can be read')
  })

  it('is refused where another log was put in its place, with or without anything in it', async () => {
    rmSync(folders.log.file)
    await writeLog('0', folders.log.file, 0)
    await expectRefused('it is another log')
    renameSync(`${folders.indexFolder}.old`, folders.indexFolder)
    await writeLog('0', folders.log.file, 9)
    expect(await refusal()).to.include('it is another log')
  })

  it('is refused where log and directory are gone, as if it were a first start', async () => {
    rmSync(folders.log.file)
    rmSync(folders.directory.file)
    await expectRefused('nothing is in it')
  })

  it('is no other where the log was damaged, and what could be read of it has not been folded yet', async () => {
    const bytes = readFileSync(folders.log.file)
    writeFileSync(folders.log.file, bytes.fill(0xa5, 0, 40))
    expect(await mendDataFolder(dataFolder), 'it was set aside').to.equal(true)
    expect(await mendDataFolder(dataFolder), 'at the next start').to.equal(false)
  })

  it('is no other either where the quarantine was removed then, however often it was damaged', async () => {
    // Of the last one nothing is left that says which it was.
    for (const damage of [{ to: 40 }, { to: 40 }, { from: 4_096, to: 8_192 }]) {
      const bytes = readFileSync(folders.log.file)
      writeFileSync(folders.log.file, bytes.fill(0xa5, damage.from ?? 0, damage.to))
      expect(await mendDataFolder(dataFolder), 'it was set aside').to.equal(true)
      rmSync(folders.quarantineFolder, { recursive: true })
      expect(await mendDataFolder(dataFolder), 'at the next start').to.equal(false)
    }
  })

  it('is no other where it was made by a program that named no log before it, and the quarantine does', () => {
    const made = { kind: 'sound', epoch: 'made', formers: [] } as const
    const check = (epoch: string) => () =>
      checkOwnLog(folders, made as never, [{ folder: 'old', report: { epoch } }] as never)
    expect(check('made')).to.not.throw()
    expect(check('another')).to.throw('it is another log')
  })

  it('is set aside where it ends before what an index has heard of it, or holds of it ahead of its position', async () => {
    const { epoch } = await openSqliteStreamReader(folders.log)
    const told = { position: 3 * 4_096, head: 3 * 4_096, at: 1, caughtUpAt: 1 }
    for (const heard of [{ head: 9 * 4_096 }, { ahead: { position: 9 * 4_096, caughtUpAt: 1, behind: new Map() } }]) {
      await withIndex(folders, epoch, (writer, name) => writer.heartbeat(name, { ...told, ...heard }))
      expect(seenOf(folders, epoch)).to.equal(9 * 4_096)
    }
    expect(await mendDataFolder(dataFolder)).to.equal(true)
  })

  it('is no other where no index has anything of the log before', async () => {
    rmSync(folders.indexFolder, { recursive: true })
    await indexUpTo(folders, 'another', 0)
    expect(await refusal()).to.equal('not at all')
  })

  it('is refused where the directory lost all of its events, and not where nothing was ever sent', async () => {
    rmSync(folders.directory.file)
    await writeLog('directory', folders.directory.file, 0)
    expect(await refusal()).to.equal(
      `start ${folders.directory.file} (nothing is in it, and the log holds what was sent to its workspaces: restore it from a backup)`,
    )
    rmSync(folders.log.file)
    rmSync(folders.indexFolder, { recursive: true })
    const log = await openLog('0', folders.log.file)
    await log.append([sealBeginning(Date.now())])
    await log.close()
    expect(await refusal(), 'killed before its first run').to.equal('not at all')
  })
})
