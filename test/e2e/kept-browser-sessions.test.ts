import { expect } from 'chai'
import { cli, firstWorkspaceOf } from '../support/cli.ts'
import { signIn, untilIndexed } from '../support/client.ts'
import { untilDayLasts } from '../support/day.ts'
import { appendOldLogs } from '../support/old-log.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

describe('browser sessions of a plan', function () {
  this.timeout(300_000)
  let server: Server

  before(async () => {
    await untilDayLasts(120_000)
    server = await startServer()
    const workspaceId = await firstWorkspaceOf(server)
    await server.stop()
    const { dataFolder } = server
    const received = [31, 29, 8, 6, 0].map((daysAgo) => {
      const id = `of-${daysAgo}-days-ago`
      const timestamp = new Date(Date.now() - daysAgo * 86_400_000 - 1_000).toISOString()
      const rum = {
        meta: { session: { id } },
        events: [{ name: 'click', timestamp }],
        exceptions: [{ type: 'TypeError', value: 'boom', timestamp }],
      }
      return { workspaceId, daysAgo, rum }
    })
    await appendOldLogs(dataFolder, received)
    server = await startServer({ dataFolder })
    await untilIndexed(server)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('are shown for as long as it keeps them', async () => {
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const shown = async (): Promise<readonly string[]> => {
      const page = await (await reader.raw('/app/sessions?from=-60d')).text()
      return [...page.matchAll(/\/app\/find\?id=of-(\d+)-days-ago/g)].map(([, days = '']) => days)
    }
    expect(await shown()).to.deep.equal(['0', '6', '8', '29'])
    await cli(server, 'workspace', 'plan', server.firstRun.workspace, 'free')
    while ((await shown()).includes('8'));
    expect(await shown()).to.deep.equal(['0', '6'])
  })
})
