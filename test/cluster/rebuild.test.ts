import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { partitionNumber } from '#src/events/partition.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { cli } from '../support/cli.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { askElasticsearch } from '../support/elasticsearch.ts'
import { enginesTimeoutMs } from '../support/engines.ts'
import { createRandom } from '../support/random.ts'
import { watchReading } from '../support/reading-watch.ts'
import { runProgram, runVerb, runVerbAgain, saysToRunAgain, type Ran } from '../support/run-program.ts'
import type { FirstRun } from '../support/server.ts'
import { hex } from '../support/telemetry.ts'
import { nowNs, sendingTo } from '../support/workspace.ts'
import { createTestCluster, type RoleProcess, type TestCluster } from './cluster-process.ts'

const isSoak = process.env['SOAK'] === '1'
/** Half of them spans, half of them logs. */
const records = isSoak ? 2_000_000 : 10_000
const perRequest = isSoak ? 500 : 250
const kills = isSoak ? 20 : 2

describe('rebuild and verify, beside a running cluster', function () {
  this.timeout(isSoak ? 7_200_000 : 600_000)
  let test: TestCluster
  let server: RoleProcess
  let firstRun: FirstRun
  let reader: Reader

  const argv = (...args: readonly string[]): string[] => ['src/main.ts', ...args, '--data', test.dataFolder]
  const env = (): NodeJS.ProcessEnv => ({ ...process.env, ...test.cluster.environment })
  const run = (...args: readonly string[]): Promise<Ran> => runVerb(argv(...args), env())
  const rebuild = (...args: readonly string[]): Promise<Ran> => runVerbAgain(argv('rebuild', ...args), env())
  /** The last line is the answer; those before it tell of progress. */
  const lastLine = (out: string): JsonObject => JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as JsonObject
  const verified = async (name: string): Promise<readonly JsonObject[]> => {
    const ran = await run('verify', name, '--json')
    expect(ran.code, `${ran.out}${ran.err}`).to.equal(0)
    return listOf(lastLine(ran.out), 'verdicts')
  }
  /** Names of builds in the partition of the workspace; others may have others, where a rebuild was broken off. */
  const buildsOf = async (projection: string, state: string): Promise<readonly string[]> => {
    const [workspace] = listOf(await cli(test, 'workspace', 'list'), 'workspaces')
    const id = workspaceIdOf(String(workspace?.['id']))
    const partition = String(partitionNumber(id, test.cluster.config.partitions))
    const found = listOf(await cli(test, 'builds'), 'builds').filter(
      (build) =>
        String(build['build']).startsWith(`${projection}-v`) &&
        build['state'] === state &&
        build['partition'] === partition,
    )
    return found.map(({ build }) => String(build))
  }
  const start = (...args: readonly string[]): ChildProcess =>
    spawn(process.execPath, argv(...args, '--json'), { stdio: ['ignore', 'pipe', 'pipe'], env: env() })
  /** Runs a rebuild until it has told so much of its progress, and for a moment more; whether it was killed on its way. */
  async function killRebuild(linesTold: number, momentMs: number): Promise<boolean> {
    const rebuilding = start('rebuild', 'logs')
    const [out, err] = [createInterface({ input: rebuilding.stdout! }), text(rebuilding.stderr!)]
    const closed = once(rebuilding, 'close')
    let told = 0
    const isTold = new Promise<void>((resolve) => out.on('line', () => ++told === linesTold && resolve()))
    await Promise.race([isTold, closed])
    await Promise.race([setTimeout(momentMs), closed])
    rebuilding.kill('SIGKILL')
    const [code] = (await closed) as [number | null]
    if (saysToRunAgain.test(await err)) return killRebuild(linesTold, momentMs)
    expect([code ?? 0, await err]).to.deep.equal([0, ''])
    return rebuilding.signalCode === 'SIGKILL'
  }
  const untilRead = (): Promise<void> => untilIndexed({ dataFolder: test.dataFolder, output: server.lines })

  before(async function () {
    this.timeout(enginesTimeoutMs)
    test = await createTestCluster()
    server = await test.start('all')
    await runProgram(process.execPath, argv('first-run', '--base-url', server.baseUrl), test.cluster)
    firstRun = JSON.parse(await readFile(join(test.dataFolder, 'first-run.json'), 'utf8')) as FirstRun
    reader = await signIn(server.baseUrl, firstRun.sign_in)
    await cli(test, 'workspace', 'plan', firstRun.workspace, 'unlimited')
    const to = sendingTo(server, firstRun.keys)
    for (let sent = 0; sent < records; sent += 2 * perRequest) {
      const numbers = Array.from({ length: perRequest }, (_, n) => sent + n)
      const traceId = (n: number): string => hex(32, 'rebuilt', Math.floor(n / 7))
      const messages = numbers.map((n) => ({ message: `order ${n} was stored`, trace_id: traceId(n), n }))
      const spans = numbers.map((n) => ({ traceId: traceId(n), spanId: hex(16, 'span', n), startNs: nowNs() }))
      await Promise.all([to.logs(messages), to.spans(spans)])
    }
    await untilRead()
  })
  after(() => test.remove())

  it('finds every index to be what the log says', async () => {
    const logs = (await verified('all')).filter(({ projection }) => projection === 'logs')
    const entries = logs.flatMap((verdict) => listOf(verdict, 'workspaces').map((of) => Number(at(of, 'entries'))))
    expect(entries).to.deep.equal([records / 2])
  })

  it('moves readers to new builds of all indexes, while writers write and readers see every record, once', async () => {
    const watch = watchReading({ ...server, firstRun }, reader, 900)
    const rebuilt = await rebuild('all', '--json')
    const compared = await run('verify', 'all', '--json')
    const seen = await watch.stop()
    expect(rebuilt.code, rebuilt.err).to.equal(0)
    expect(compared.code, `${compared.out}${compared.err}`).to.equal(0)
    expect(seen.faults).to.deep.equal([])
    expect(Math.min(seen.answers, seen.sent)).to.be.above(10)
    expect(new Set(listOf(lastLine(rebuilt.out), 'rebuilt').map(({ outcome }) => outcome))).to.deep.equal(
      new Set(['moved']),
    )
    await untilRead()
  })

  it('has made every index as it is asked for, by whichever process', async () => {
    const { indexPrefix, elasticsearchUrl } = test.cluster.config
    const path = `/${indexPrefix}-*/_settings/index.*replicas?flat_settings=true`
    const found = Object.values(await askElasticsearch(elasticsearchUrl, path))
    // Those that projectors have made, and those of the rebuild; left to itself an index has `auto_expand_replicas`.
    expect(found).to.have.length.above(20)
    expect(found.map((index) => at(index as JsonObject, 'settings'))).to.deep.equal(
      found.map(() => ({ 'index.number_of_replicas': '0' })),
    )
  })

  it('goes back to the build before at once, and drops the one that readers have left', async () => {
    const before = await buildsOf('logs', 'live')
    const kept = await buildsOf('logs', 'kept')
    await cli(test, 'rollback', 'logs')
    expect(await buildsOf('logs', 'live')).to.deep.equal(kept)
    expect(await buildsOf('logs', 'kept')).to.deep.equal(before)
    await cli(test, 'drop', before[0] ?? '')
    expect(await buildsOf('logs', 'kept')).to.deep.equal([])
    await verified('logs')
  })

  it('is refused while another is under way, and is no other to one that was killed just now', async () => {
    const first = start('rebuild', 'traces', '--throttle', '2')
    const closed = once(first, 'close')
    await once(first.stdout!, 'data')
    const second = await run('rebuild', 'traces')
    expect([second.code, second.out]).to.deep.equal([1, ''])
    expect(second.err).to.match(/rebuild traces \(another rebuild of it is under way/)
    first.kill('SIGKILL')
    await closed
    const third = await run('rebuild', 'traces', '--json')
    expect(third.code, third.err).to.equal(0)
    expect(listOf(lastLine(third.out), 'rebuilt').map(({ outcome }) => outcome)).to.include('moved')
  })

  it('says as JSON, to who asked for it, that it stood still and others may go on with it', async () => {
    const stopped = start('rebuild', 'traces', '--throttle', '2')
    const [err, closed] = [text(stopped.stderr!), once(stopped, 'close')]
    await once(stopped.stdout!, 'data')
    stopped.kill('SIGSTOP')
    const other = await run('rebuild', 'traces', '--json')
    stopped.kill('SIGCONT')
    expect(other.code, other.err).to.equal(0)
    expect((await closed)[0]).to.equal(1)
    const { error } = JSON.parse(await err) as JsonObject
    expect(error).to.have.property('code', 'failed')
    expect(error).to.have.property('detail').that.matches(saysToRunAgain)
    await verified('traces')
  })

  it('goes on after kill -9, at whatever moment, and readers see every record, once', async () => {
    const random = createRandom(23)
    const watch = watchReading({ ...server, firstRun }, reader, 900, 'watched')
    let killed = 0
    let ran: Ran
    try {
      // A partition tells of three phases; what goes on where it was killed tells of fewer, and may end before.
      for (let kill = 0; kill < kills || killed === 0; kill++) {
        const isKilled = await killRebuild(1 + random.below(9), random.below(1_000))
        killed += Number(isKilled)
      }
      ran = await rebuild('logs', '--json')
    } finally {
      await watch.stop()
    }
    const seen = await watch.stop()
    expect(ran.code, ran.err).to.equal(0)
    expect(seen.faults).to.deep.equal([])
    expect(Math.min(seen.answers, seen.sent)).to.be.above(10)
    await untilRead()
    await verified('logs')
    expect(await buildsOf('logs', 'building')).to.deep.equal([])
  })

  it('has a way on when an index refuses a document: its projection alone stops, and a rebuild finds everything', async () => {
    const { indexPrefix, elasticsearchUrl } = test.cluster.config
    const [live] = await buildsOf('logs', 'live')
    const days = `/${indexPrefix}-${live ?? ''}-logs-*`
    // Somebody maps the field that holds documents as text of any form.
    const body = JSON.stringify({ properties: { b: { type: 'long' } } })
    await askElasticsearch(elasticsearchUrl, `${days}/_mapping`, { method: 'PUT', body })
    const stopped = server.printed(/^projection logs of partition \d has stopped/)
    const to = sendingTo(server, firstRun.keys)
    const traceId = hex(32, 'beside it')
    await to.logs([{ message: 'refused by its index', service: 'refused', trace_id: traceId }])
    await to.spans([{ traceId, spanId: hex(16, 'beside it'), startNs: nowNs() }])
    expect(await stopped).to.match(/ at \d+: Elasticsearch answered 400 .*\(.*rebuild the projection/)
    const findTrace = async () =>
      listOf((await reader.get(`/api/app/traces/search?trace_id=${traceId}`)).body, 'traces')
    while ((await findTrace()).length === 0) await setTimeout(50)
    const findLog = async () => listOf((await reader.get('/api/app/logs/search?service=refused')).body, 'logs')
    expect(await findLog()).to.have.length(0)
    expect(listOf(await cli(test, 'dead-letters', 'list'), 'dead_letters')).to.deep.equal([])
    const repaired = await rebuild('logs', '--json')
    expect(repaired.code, repaired.err).to.equal(0)
    // What the server says of the stop stays said.
    await untilIndexed(test)
    expect(await findLog()).to.have.length(1)
    await verified('logs')
  })

  it('finds a document that was changed, one that was deleted and one that was added; rebuild repairs it', async () => {
    const { indexPrefix, elasticsearchUrl } = test.cluster.config
    const ask = (path: string, method = 'GET', body?: object) =>
      askElasticsearch(elasticsearchUrl, path, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const days = `/${indexPrefix}-${(await buildsOf('logs', 'live'))[0] ?? ''}-logs-*`
    const query = { bool: { must_not: { match: { x_message: 'tracked' } } } }
    const found = (await ask(`${days}/_search`, 'POST', { size: 3, sort: ['p', 'i'], query })) as JsonObject
    const [changed, deleted, copied] = listOf(found['hits'] as JsonObject, 'hits') as [
      JsonObject,
      JsonObject,
      JsonObject,
    ]
    const path = (hit: JsonObject, id = String(hit['_id'])) =>
      `/${String(hit['_index'])}/_doc/${encodeURIComponent(id)}?routing=${String(hit['_routing'])}`
    const source = (hit: JsonObject) => hit['_source'] as JsonObject
    await ask(path(changed), 'PUT', { ...source(changed), b: String(source(changed)['b']).replace('stored', 'storep') })
    await ask(path(deleted), 'DELETE')
    await ask(path(copied, 'made up'), 'PUT', { ...source(copied), i: 'made up' })
    const told = await run('verify', 'logs', '--json')
    expect(told.code, told.err).to.equal(1)
    expect(told.out).to.contain('storep')
    const verdicts = listOf(lastLine(told.out), 'verdicts')
    const named = verdicts.flatMap((verdict) => listOf(verdict, 'differences').map(({ id }) => String(id)))
    expect(named.toSorted()).to.deep.equal(
      [source(changed)['i'], source(deleted)['i'], 'made up'].map(String).toSorted(),
    )
    const repaired = await rebuild('logs', '--workspace', firstRun.workspace)
    expect(repaired.code, repaired.err).to.equal(0)
    await verified('logs')
  })
})
