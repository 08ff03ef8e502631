import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import { storedLiveBuilds } from '#projections/stores/sqlite/rosters.ts'
import { dayPath } from '#projections/stores/sqlite/paths.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { plans } from '#src/config.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { dayOf } from '#src/lib/day.ts'
import { acceptedSpans, auditedSpans, otlpPath } from '../support/audit.ts'
import { createSpanWorkspace } from '../support/cli.ts'
import { post, untilIndexed } from '../support/client.ts'
import { untilDayLasts } from '../support/day.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { untilKeyIsKnown } from '../support/allowance-driver.ts'

const limit = plans['free']?.spansPerMonth ?? 0
/** Spans of one request, which is within the size of a body. */
const spansMax = 5_000

describe('an index of what was used that lacks a day', function () {
  this.timeout(600_000)

  let server: Server
  const json = { 'content-type': 'application/json' }
  /** How many spans of a request are stored, once it is answered for good. */
  const send = async (key: string, name: string, spans: number): Promise<number> => {
    const answer = await post(server, otlpPath, key, auditedSpans(name, spans), json)
    expect(answer.status).to.equal(200)
    return acceptedSpans(await answer.text(), spans)
  }
  const removeDay = async (workspace: string): Promise<void> => {
    const { indexFolder } = foldersOf(server.dataFolder)
    const { index } = present(storedLiveBuilds(indexFolder).get('allowance'), 'the allowance has an index')
    const file = dayPath(indexFolder, index, workspaceIdOf(workspace), dayOf(Date.now()))
    await Promise.all(['', '-wal', '-shm'].map((end) => rm(file + end, { force: true })))
  }

  before(async () => {
    await untilDayLasts(300_000)
    server = await startServer({ form: 'embedded' })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('gives nobody the spans of that day again, whether it was removed while the server ran or before its start', async () => {
    const { workspace, key } = await createSpanWorkspace(server, 'lost', 'free')
    await untilKeyIsKnown([server.baseUrl], key)
    for (let left = limit - 10; left > 0; left -= spansMax) await send(key, `first ${left}`, Math.min(spansMax, left))
    await untilIndexed(server)
    await removeDay(workspace)
    expect(await send(key, 'the last', 100)).to.equal(10)
    const { dataFolder } = server
    await server.stop()
    server = await startServer({ dataFolder, form: 'embedded' })
    expect(await send(key, 'one more', 1)).to.equal(0)
  })
})
