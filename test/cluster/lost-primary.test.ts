import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { askElasticsearch, indicesWith } from '../support/elasticsearch.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { runProgram, runVerb, runVerbAgain, type Ran } from '../support/run-program.ts'
import type { FirstRun } from '../support/server.ts'
import { hex } from '../support/telemetry.ts'
import { nowNs, sendingTo, type Sending } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

describe('an index whose primary shard is lost', function () {
  this.timeout(600_000)
  let test: TestCluster
  let server: RoleProcess
  let reader: Reader
  let send: Sending
  const argv = (...args: readonly string[]): string[] => ['src/main.ts', ...args, '--data', test.dataFolder]
  const env = (): NodeJS.ProcessEnv => ({ ...process.env, ...test.cluster.environment })
  const ask = (path: string, method: string, body?: object): Promise<JsonObject> =>
    askElasticsearch(test.cluster.config.elasticsearchUrl, path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }) as Promise<JsonObject>

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    server = await test.start('all')
    await runProgram(process.execPath, argv('first-run', '--base-url', server.baseUrl), test.cluster)
    const firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    reader = await signIn(server.baseUrl, firstRun.sign_in)
    send = sendingTo(server, firstRun.keys)
    await send.logs([{ message: 'before', service: 'kept' }])
    await untilIndexed({ dataFolder: test.dataFolder, output: server.lines })
  })
  after(() => test.remove())

  /** The day's index of logs as it is where the only node that had it is gone: there, and with no shard that answers. */
  async function losePrimary(): Promise<void> {
    const { indexPrefix, elasticsearchUrl } = test.cluster.config
    const [name = ''] = await indicesWith(elasticsearchUrl, `${indexPrefix}-logs-`)
    const made = at(await ask(`/${name}`, 'GET'), name) as JsonObject
    await ask(`/${name}`, 'DELETE')
    const settings = { 'index.number_of_replicas': 0, 'index.routing.allocation.require.nowhere': 'yes' }
    await ask(`/${name}?wait_for_active_shards=0`, 'PUT', { settings, mappings: made['mappings'] })
  }
  const found = async (path: string, list: string): Promise<number> =>
    listOf((await reader.get(path)).body, list).length
  const verify = (): Promise<Ran> => runVerb(argv('verify', 'all'), env())

  it('holds up only its own projection, which names it; a rebuild brings back what it held', async () => {
    await losePrimary()
    const from = server.lines.length
    const traceId = hex(32, 'beside it')
    await send.logs([{ message: 'while it is lost', service: 'kept' }])
    await send.spans([{ traceId, spanId: hex(16, 'beside it'), startNs: nowNs() }])
    const told = await server.printed(/^projection logs of partition \d is tried again/, from)
    expect(told).to.match(
      /its primary shard is not active: GET _cluster\/allocation\/explain .* rebuild the projection/,
    )
    while ((await found(`/api/app/traces/search?trace_id=${traceId}`, 'traces')) === 0) await setTimeout(50)
    const rebuilt = await runVerbAgain(argv('rebuild', 'logs'), env())
    expect(rebuilt.code, rebuilt.err).to.equal(0)
    expect(await found('/api/app/logs/search?service=kept', 'logs')).to.equal(2)
    const verified = await verify()
    expect(verified.code, `${verified.out}${verified.err}`).to.equal(0)
  })
})
