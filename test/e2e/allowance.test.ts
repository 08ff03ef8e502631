import { expect } from 'chai'
import { expectSpentToTheSpan, untilKeyIsKnown } from '../support/allowance-driver.ts'
import { spansOf } from '../support/audit.ts'
import { createSpanWorkspace } from '../support/cli.ts'
import { post, untilIndexed } from '../support/client.ts'
import { startIngestWorker, type IngestWorker } from '../support/ingest-workers.ts'
import { runProgram } from '../support/run-program.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'

const seeds = process.env['SOAK'] === '1' ? 50 : 1

describe('four ingest processes on one log', function () {
  this.timeout(300_000 + seeds * 60_000)

  let server: Server
  let workers: readonly IngestWorker[]
  /** The one that the server's own parent starts anew. */
  let first: Pick<IngestWorker, 'crash'>

  before(async () => {
    server = await startServer()
    let restarted: Promise<unknown> = Promise.resolve()
    first = {
      crash: async () => {
        restarted = restarted.then(() => {
          const serves = server.printed(/^worker \d+ serves/)
          process.kill(server.workerPid(), 'SIGKILL')
          return serves
        })
        await restarted
      },
    }
    workers = await Promise.all([1, 2, 3].map(() => startIngestWorker(server.dataFolder)))
  })
  after(async () => {
    expect(await Promise.all(workers.map((worker) => worker.stop()))).to.deep.equal([0, 0, 0])
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  for (let seed = 1; seed <= seeds; seed++) {
    it(`spend the allowance to the span while they are killed (seed ${seed})`, async () => {
      const urls = [server.baseUrl, ...workers.map(({ url }) => url)]
      const kill = (process: number): Promise<void> => (workers[process] ?? first).crash()
      await expectSpentToTheSpan({ server, urls, processes: urls, seed, kill })
    })
  }

  it('have counted what a rebuilt index counts: distinct spans, and those that came again', async () => {
    const { workspace, key } = await createSpanWorkspace(server, 'counted again', 'free')
    await untilKeyIsKnown([server.baseUrl], key)
    const send = async (name: string, spans: number, service: string): Promise<void> => {
      const sketches = Array.from({ length: spans }, (_, n) => ({
        traceId: hex(32, 'counted', name),
        spanId: hex(16, n),
        service,
      }))
      const json = { 'content-type': 'application/json' }
      expect((await post(server, '/api/traces/v1/otlp', key, otlpJson(sketches), json)).status).to.equal(200)
    }
    await send('a', 70, 'first')
    await send('b', 30, 'first')
    // Another request with the same spans: they count again, and are shown as repeated.
    await send('a', 50, 'second')
    await untilIndexed(server)
    const before = await spansOf(server, workspace)
    expect(before).to.deep.equal({ counted: 150, found: 100 })
    const { dataFolder } = server
    const argv = ['src/main.ts', 'rebuild', 'allowance', '--json', '--data', dataFolder]
    await runProgram(process.execPath, argv, { environment: {} })
    expect(await spansOf(server, workspace)).to.deep.equal(before)
  })
})
