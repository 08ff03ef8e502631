import { join, sep } from 'node:path'
import { expect } from 'chai'
import { embeddedFilesOpen } from '#src/compose/open-files.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { limits } from '#src/config.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { firstWorkspaceOf } from '../support/cli.ts'
import { at, completeAnswerOf, signIn, untilIndexed } from '../support/client.ts'
import { untilDayLasts } from '../support/day.ts'
import { appendOldLogs } from '../support/old-log.ts'
import { openPathsOf } from '../support/open-paths.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

const projections = ['correlation', 'logs', 'traces']
/** A month; of a machine with little memory, as many days as its server has files open. */
const days = Math.min(30, Math.floor(embeddedFilesOpen(limits) / limits.queryThreadsMax / projections.length))

/** The index files of a workspace that a process has open, each once. */
function openFilesOf(pid: number, indexFolder: string, workspace: WorkspaceId): readonly string[] {
  const isOwn = (path: string): boolean =>
    path.startsWith(indexFolder) && path.includes(`${sep}${workspace}${sep}`) && path.endsWith('.db')
  return [...new Set(openPathsOf(pid).filter(isOwn))]
}

describe('a server that keeps a month', function () {
  this.timeout(300_000)
  let server: Server
  let workspaceId: WorkspaceId

  before(async () => {
    await untilDayLasts(120_000)
    server = await startServer()
    workspaceId = await firstWorkspaceOf(server)
    await server.stop()
    const { dataFolder } = server
    const received = Array.from({ length: days }, (_, day) => {
      const daysAgo = days - 1 - day
      const traceId = String(daysAgo + 1).padStart(32, '0')
      const record = { message: `${daysAgo} days ago`, trace_id: traceId, session_id: 'all month' }
      return { workspaceId, daysAgo, records: [record] }
    })
    await appendOldLogs(dataFolder, received)
    server = await startServer({ dataFolder })
    await untilIndexed(server)
    // From now on the projector has open what is written, and readers what is asked for.
    await server.stop()
    server = await startServer({ dataFolder })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('keeps all files of a session open that is looked up by each index: the next look need not open them', async () => {
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    for (let asked = 0; asked < 3; asked++) {
      const found = await completeAnswerOf(reader, '/api/app/correlation?session_id=all+month')
      expect(at(found, 'logs', 'items')).to.have.length(days)
    }
    const { indexFolder } = foldersOf(server.dataFolder)
    const open = openFilesOf(server.workerPid(), indexFolder, workspaceId)
    const ofProjection = (name: string) => open.filter((path) => path.startsWith(join(indexFolder, `${name}-`)))
    expect(projections.map((name) => ofProjection(name).length)).to.deep.equal(projections.map(() => days))
  })
})
