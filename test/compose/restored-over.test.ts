import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { backUpFolder } from '#src/compose/back-up.ts'
import { foldersOf, type Folders } from '#src/compose/folders.ts'
import { mendDataFolder } from '#src/compose/mend.ts'
import { tellQuarantines } from '#src/compose/quarantines.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { idsOf, readAll } from '../support/read-all.ts'
import { append, indexUpTo, openLog, writeLog } from './written-folder.ts'

describe('a backup that is put over a data folder', () => {
  let folder: LogFolder
  let dataFolder: string
  let backup: string
  let folders: Folders
  let told: string[]
  const tell = console.error

  /** More is sent, and the server is killed: its WAL is left, of pages behind those that the backup has. */
  const goOnAndDie = async (): Promise<void> => {
    const { epoch } = await writeLog('0', folders.log.file, 40, 'later')
    await indexUpTo(folders, epoch, 43 * 4_096)
    const stream = await openLog('0', folders.log.file)
    await append(stream, 'last', 3)
    const left = join(folder.folder, 'left')
    cpSync(folders.logFolder, left, { recursive: true })
    await stream.close()
    rmSync(folders.logFolder, { recursive: true })
    cpSync(left, folders.logFolder, { recursive: true })
    expect(existsSync(`${folders.log.file}-wal`)).to.equal(true)
  }
  const putOver = (): void => cpSync(backup, dataFolder, { recursive: true })
  const start = async (): Promise<string> => {
    told = []
    try {
      await mendDataFolder(dataFolder)
      tellQuarantines(dataFolder)
      return told.join('\n')
    } catch (error) {
      return (error as Error).message
    }
  }
  const idsIn = async (file: string): Promise<readonly string[]> => {
    const stream = await openSqliteStreamReader({ file, partition: '0' })
    try {
      return idsOf(await readAll(stream))
    } finally {
      await stream.close()
    }
  }

  beforeEach(async () => {
    folder = await makeLogFolder()
    dataFolder = join(folder.folder, 'data')
    backup = join(folder.folder, 'backup')
    folders = foldersOf(dataFolder)
    console.error = (line: string) => void told.push(line)
    loadSecrets({ dataFolder, random: randomBytes })
    await writeLog('directory', folders.directory.file, 1, 'directory')
    await writeLog('0', folders.log.file, 3, 'first')
    await backUpFolder(dataFolder, backup)
  })
  afterEach(async () => {
    console.error = tell
    await folder.remove()
  })

  it('is what is started on: the WAL of the log before is set aside, and what newer indexes had is told as lost, not as damage', async () => {
    await goOnAndDie()
    const wal = readFileSync(`${folders.log.file}-wal`)
    putOver()
    const said = await start()
    expect(said)
      .to.include('What was left of the event log that was here before')
      .and.to.include('The event log ended before what its indexes have had of it')
      .and.to.include('it ends at event 3, and event 43 was in it')
      .and.to.include('40 events, at positions 16384 to 176128')
      .and.not.to.include('damage')
    const [beside = '', ...others] = readdirSync(folders.quarantineFolder).sort()
    expect(others).to.have.length(1)
    expect(readFileSync(join(folders.quarantineFolder, beside, '0.db-wal')).equals(wal), 'byte for byte').to.equal(true)
    const [first, second, third, ...more] = await idsIn(folders.log.file)
    expect([first, second, third]).to.deep.equal(await idsIn(join(backup, 'log', '0.db')))
    expect(more.filter((id) => /later|last/.test(id))).to.deep.equal([])
    const quarantines = readdirSync(folders.quarantineFolder)
    await start()
    expect(readdirSync(folders.quarantineFolder), 'at the next start').to.deep.equal(quarantines)
  })

  it('loses nothing where it is the newer one: the older indexes are folded on', async () => {
    const { epoch } = await writeLog('0', folders.log.file, 2, 'later')
    rmSync(backup, { recursive: true })
    await backUpFolder(dataFolder, backup)
    await indexUpTo(folders, epoch, 4 * 4_096)
    putOver()
    expect(await start()).to.match(
      /^\S+ is as it was backed up at \S+, up to position 20480\n\S+ is as it was backed up/,
    )
    expect(await idsIn(folders.log.file)).to.have.length(5)
    expect(existsSync(folders.quarantineFolder)).to.equal(false)
  })

  it('is refused where it is not all there, with a way to go on', async () => {
    putOver()
    const { file: logFile } = folders.log
    truncateSync(logFile, 8_192)
    expect(await start())
      .to.include(`start ${logFile} (it is not as the backup of `)
      .and.to.include(
        `it has 8192 bytes of ${readFileSync(join(backup, 'log', '0.db')).length}: copy all of that backup`,
      )
    rmSync(`${logFile}.copied`)
    expect(await start(), 'as any other').to.include('The event log was damaged')
  })

  it('is not opened by a verb before it is started on', async () => {
    await goOnAndDie()
    putOver()
    const refused = await Promise.allSettled([idsIn(folders.log.file), openLog('0', folders.log.file)])
    expect(refused.map((each) => each.status === 'rejected' && String(each.reason))).to.deep.equal(
      Array(2).fill(
        `PermanentError: open log ${folders.log.file} (a backup was put over it, and what was left of the log before is still beside it: ` +
          'start the server first)',
      ),
    )
  })

  it('is as any other log once somebody has written to it: its WAL is its own', async () => {
    const file = join(backup, 'log', '0.db')
    expect(await idsIn(file)).to.have.length(3)
    const stream = await openLog('0', file)
    await append(stream, 'own', 2)
    putOver()
    await stream.close()
    expect(existsSync(`${folders.log.file}-wal`)).to.equal(true)
    expect(await start()).to.not.include(`${folders.log.file} is as it was backed up`)
    expect(await idsIn(folders.log.file)).to.have.length(5)
  })
})
