import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { foldersOf } from '#src/compose/folders.ts'
import { dayBefore, dayOf } from '#src/lib/day.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli, firstWorkspaceOf } from '../support/cli.ts'
import { completeAnswerOf, listOf, signIn, untilIndexed } from '../support/client.ts'
import { untilDayLasts } from '../support/day.ts'
import { appendOldLogs } from '../support/old-log.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { verifyAll } from '../support/verify-all.ts'

const lines = 2_000
/** So that the day has more than a file must have to be packed. */
const record = (number: number): JsonObject => ({
  message: `line ${number}`,
  service: number % 7 === 0 ? 'till' : 'shop',
  details: Array.from({ length: 40 }, (_, each) => `detail${(number * 41 + each * 17) % 3_001}`).join(' '),
})

describe('a server whose day is over', function () {
  this.timeout(300_000)
  let server: Server
  let file: string

  before(async () => {
    await untilDayLasts(120_000)
    server = await startServer()
    const workspaceId = await firstWorkspaceOf(server)
    await server.stop()
    const { dataFolder } = server
    const records = Array.from({ length: lines }, (_, number) => record(number))
    await appendOldLogs(dataFolder, [{ workspaceId, daysAgo: 1, records }])
    server = await startServer({ dataFolder })
    await untilIndexed(server)
    const { indexFolder } = foldersOf(dataFolder)
    const index = readdirSync(indexFolder).find((name) => name.startsWith('logs-')) ?? ''
    file = join(indexFolder, index, workspaceId, `${dayBefore(dayOf(Date.now()), 1)}.db`)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  const inFile = (sql: string): number => {
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
    try {
      return Number(Object.values(database.prepare(sql).get() ?? {})[0])
    } finally {
      database.close()
    }
  }
  async function answers(): Promise<unknown> {
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const pages = [
      '/api/app/logs/search?limit=200&service=till&from=2d',
      '/api/app/logs/search?limit=100&q=detail17&from=2d',
      '/api/app/logs/search?limit=1000&service=shop&from=2d',
    ]
    const found: unknown[] = []
    for (const path of pages) {
      const logs = listOf(await completeAnswerOf(reader, path), 'logs')
      expect(logs, path).to.not.have.length(0)
      found.push(logs)
    }
    const exported = await reader.raw('/app/logs/export?q=detail2&from=2d')
    expect(exported.status).to.equal(200)
    const text = await exported.text()
    expect(text).to.include('detail2')
    return [...found, text]
  }

  it('answers as before from packed bodies, and verify finds nothing', async () => {
    expect(existsSync(file)).to.equal(true)
    const before = await answers()
    // Files that are there at its start have the first turns.
    await server.stop()
    server = await startServer({ dataFolder: server.dataFolder })
    const left = (): number => inFile('SELECT count(*) FROM b_logs') + inFile('PRAGMA freelist_count')
    while (inFile('PRAGMA user_version') < 2 || left() > 0) await cli(server, 'status')
    expect(inFile('SELECT count(*) FROM r_logs')).to.equal(lines)
    expect(await answers()).to.deep.equal(before)
    const verdicts = await verifyAll(server.dataFolder)
    expect(verdicts.map(({ equal }) => equal)).to.deep.equal(verdicts.map(() => true))
  })
})
