import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { buildName } from '#projections/rosters/build-name.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { limits } from '#src/config.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { dayBefore, dayOf } from '#src/lib/day.ts'
import { openSqliteStreamReader } from '#streams/sqlite/stream.ts'
import { cli } from '../support/cli.ts'
import { at, listOf } from '../support/client.ts'
import { untilDayLasts } from '../support/day.ts'
import { makeOldLog } from '../support/old-log.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'
import { verifyAll } from '../support/verify-all.ts'
import { sendingTo } from '../support/workspace.ts'

const workspaceId = workspaceIdOf('old')
const received = [39, 38, 32, 31, 30, 1, 0].map((daysAgo) => [workspaceId, daysAgo] as const)

describe('a server on a log of forty days', function () {
  this.timeout(600_000)
  let server: Server
  let today: string
  const ago = (days: number): string => dayBefore(today, days)

  before(async () => {
    await untilDayLasts(240_000)
    const dataFolder = await newDataFolder()
    today = dayOf(Date.now())
    await makeOldLog(dataFolder, received)
    server = await startServer({ dataFolder })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('drops what nobody sees, cuts what nobody keeps, and goes on', async () => {
    const keptFrom = async (): Promise<string> => {
      const [log] = listOf(await cli(server, 'status'), 'logs')
      return log === undefined ? '' : String(at(log, 'first', 'received_at')).slice(0, 10)
    }
    // A turn of retention begins with the projector.
    while ((await keptFrom()) < ago(38));
    expect(await keptFrom()).to.equal(ago(38))
    const files = await readdir(join(server.dataFolder, 'index', buildName(logsProjection, 1), workspaceId))
    const days = new Set(files.map((file) => file.slice(0, 10)))
    expect([...days].sort()).to.deep.equal([31, 30, 1, 0].map(ago))
    expect((await sendingTo(server, server.firstRun.keys).logs([{ message: 'new' }])).status).to.be.below(300)
    const verdicts = await verifyAll(server.dataFolder)
    expect(verdicts.map(({ equal }) => equal)).to.deep.equal(verdicts.map(() => true))
    expect(at(verdicts.find(({ projection }) => projection === 'logs') ?? {}, 'compared_from', 'logs')).to.equal(
      ago(36),
    )
  })
})

describe('a server on a log that a build has not had, which nobody folds', function () {
  const left = 'logs-v6-007'
  let server: Server

  before(async () => {
    const dataFolder = await newDataFolder()
    await makeOldLog(dataFolder, received)
    const { log: logFile, indexFolder } = foldersOf(dataFolder)
    const log = await openSqliteStreamReader(logFile)
    const writer = createSqliteIndexWriter({ folder: indexFolder, limits })
    await writer.open(left, withSeenEvents(logsProjection), log.epoch)
    await writer.close()
    await log.close()
    server = await startServer({ dataFolder })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('keeps the log for it, says since when, and cuts it when the build is gone', async () => {
    const firstPosition = async (): Promise<unknown> =>
      at(listOf(await cli(server, 'status'), 'logs')[0] ?? {}, 'first', 'position')
    const heldSince = async (): Promise<unknown> =>
      listOf(await cli(server, 'builds'), 'builds').find(({ build }) => build === left)?.['log_held_since']
    while (typeof (await heldSince()) !== 'string');
    expect(await firstPosition()).to.equal(4_096)
    await cli(server, 'drop', left)
    await server.stop()
    server = await startServer({ dataFolder: server.dataFolder })
    while ((await firstPosition()) === 4_096);
    expect(await heldSince()).to.equal(undefined)
  })
})
