import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { untilKeyIsKnown } from '../support/allowance-driver.ts'
import { cli, createSpanWorkspace } from '../support/cli.ts'
import { answerOf, at, completeAnswerOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { createRandom } from '../support/random.ts'
import { watchReading } from '../support/reading-watch.ts'
import { runVerb, type Ran } from '../support/run-program.ts'
import { projectionNames } from '#projections/names.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'
import { hex } from '../support/telemetry.ts'
import { nowNs, sendingTo } from '../support/workspace.ts'

const isSoak = process.env['SOAK'] === '1'
/** Half of them spans, half of them logs. */
const records = isSoak ? 2_000_000 : 10_000
const perRequest = isSoak ? 500 : 100
const phases = ['copy', 'fold', 'verify', 'move']
const killsMore = isSoak ? 20 : 0

describe('rebuild and verify, beside a running server', function () {
  this.timeout(isSoak ? 7_200_000 : 600_000)
  let server: Server
  let reader: Reader
  const argv = (...args: readonly string[]): string[] => ['src/main.ts', ...args, '--data', server.dataFolder]
  const run = (...args: readonly string[]): Promise<Ran> => runVerb(argv(...args))
  /** The last line is the answer; those before it tell of progress. */
  const lastLine = ({ out }: Ran): JsonObject => JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') as JsonObject
  const start = (...args: readonly string[]): ChildProcess =>
    spawn(process.execPath, argv(...args, '--json'), { stdio: ['ignore', 'pipe', 'inherit'] })
  const verifyAll = async (): Promise<JsonObject> => {
    const ran = await run('verify', 'all', '--json')
    expect(ran.code, `${ran.out}${ran.err}`).to.equal(0)
    return lastLine(ran)
  }
  /** The build that readers use. */
  const live = async (projection: string): Promise<string> => {
    const found = listOf(await cli(server, 'builds'), 'builds').find(
      ({ build, state }) => String(build).startsWith(`${projection}-v`) && state === 'live',
    )
    return String(found?.['build'])
  }

  before(async () => {
    server = await startServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    await cli(server, 'workspace', 'plan', server.firstRun.workspace, 'unlimited')
    const to = sendingTo(server, server.firstRun.keys)
    for (let sent = 0; sent < records; sent += 2 * perRequest) {
      const numbers = Array.from({ length: perRequest }, (_, n) => sent + n)
      const traceId = (n: number): string => hex(32, 'rebuilt', Math.floor(n / 7))
      await to.logs(
        numbers.map((n) => ({ message: `order ${n} was stored`, service: `shop-${n % 3}`, trace_id: traceId(n), n })),
      )
      await to.spans(
        numbers.map((n) => ({
          traceId: traceId(n),
          spanId: hex(16, 'span', n),
          name: `GET /${n % 9}`,
          startNs: nowNs(),
        })),
      )
    }
    await untilIndexed(server)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('finds every index to be what the log says', async () => {
    const verdicts = listOf(await verifyAll(), 'verdicts')
    expect(verdicts.map(({ projection }) => projection)).to.deep.equal(['traces', 'logs', 'correlation', 'allowance'])
    const entries = Number(at(listOf(verdicts[1] ?? {}, 'workspaces')[0], 'entries'))
    expect(entries).to.equal(records / 2)
  })

  it('moves readers to new builds of all indexes, while writers write and readers see every record, once', async () => {
    const before = await live('logs')
    const watch = watchReading(server, reader, 900)
    const rebuilding = start('rebuild', 'all')
    const lines: string[] = []
    createInterface({ input: rebuilding.stdout! }).on('line', (line) => lines.push(line))
    const [code] = (await once(rebuilding, 'close')) as [number]
    const seen = await watch.stop()
    expect(code).to.equal(0)
    expect(seen.faults).to.deep.equal([])
    expect(seen.answers).to.be.above(10)
    expect(seen.sent).to.be.above(10)
    const answer = JSON.parse(lines.at(-1) ?? '') as JsonObject
    expect(listOf(answer, 'rebuilt').map(({ outcome }) => outcome)).to.deep.equal(['moved', 'moved', 'moved', 'moved'])
    expect(lines.slice(0, -1).every((line) => line.startsWith('{"progress":{"phase":'))).to.equal(true)
    expect(await live('logs')).not.to.equal(before)
    await untilIndexed(server)
    await verifyAll()
    const found = await completeAnswerOf(reader, '/api/app/logs/search?q=order&limit=1')
    expect(found['index']).to.include({ complete: true })
  })

  it('goes back to the build before at once, which has followed the log meanwhile', async () => {
    const to = sendingTo(server, server.firstRun.keys)
    await to.logs([{ message: 'after the rebuild', service: 'fresh' }])
    await untilIndexed(server)
    const before = await live('logs')
    await cli(server, 'rollback', 'logs')
    expect(await live('logs')).not.to.equal(before)
    const { body } = await reader.get('/api/app/logs/search?service=fresh')
    expect(listOf(body, 'logs')).to.have.length(1)
    await cli(server, 'drop', before)
    expect(listOf(await cli(server, 'builds'), 'builds').map(({ build }) => build)).not.to.include(before)
    const back = listOf(await cli(server, 'rollback', 'all'), 'moved').map(({ projection }) => projection)
    expect(back, 'all that have a build to go back to').to.deep.equal(['traces', 'correlation', 'allowance'])
    await verifyAll()
  })

  it('goes back with all where a call that was broken off had moved some: those do not return', async () => {
    expect((await run('rebuild', 'all')).code).to.equal(0)
    const rebuilt = await Promise.all(projectionNames.map(live))
    // What is left where the first of all had moved.
    const [first, ...others] = projectionNames
    await cli(server, 'rollback', first)
    const moved = listOf(await cli(server, 'rollback', 'all'), 'moved')
    expect(moved.map(({ projection }) => projection)).to.deep.equal(others)
    const back = await Promise.all(projectionNames.map(live))
    expect(back.filter((index) => rebuilt.includes(index))).to.deep.equal([])
    // All of them are back: the next one takes all forward again.
    await cli(server, 'rollback', 'all')
    expect(await Promise.all(projectionNames.map(live))).to.deep.equal(rebuilt)
  })

  it('goes on after kill -9 in each of its phases, and ends equal', async () => {
    const workspace = String(listOf(await cli(server, 'workspace', 'list'), 'workspaces')[0]?.['id'])
    /** True where it was killed: one that goes on where the one before was may have nothing to do in that phase any more, and ends. */
    const killIn = async (phase: string): Promise<boolean> => {
      const rebuilding = start('rebuild', 'logs', ...(phase === 'copy' ? ['--workspace', workspace] : []))
      const closed = once(rebuilding, 'close')
      await new Promise<void>((resolve) => {
        createInterface({ input: rebuilding.stdout! }).on('line', (line) => line.includes(phase) && resolve())
        void closed.then(() => resolve())
      })
      rebuilding.kill('SIGKILL')
      await closed
      expect(listOf((await reader.get('/api/app/logs/search?q=order&limit=10')).body, 'logs')).to.have.length(10)
      return rebuilding.signalCode === 'SIGKILL'
    }
    for (const phase of phases) while (!(await killIn(phase)));
    const random = createRandom(17)
    for (let kill = 0; kill < killsMore; kill++) await killIn(random.pick(phases))
    const ran = await run('rebuild', 'logs', '--json')
    expect(ran.code, ran.err).to.equal(0)
    await verifyAll()
    expect(readdirSync(join(server.dataFolder, 'scratch'))).to.deep.equal([])
    const states = listOf(await cli(server, 'builds'), 'builds').map(({ state }) => String(state))
    expect(states).not.to.include('building')
  })

  it('is refused while another rebuild of the index is under way, and only then', async () => {
    const first = start('rebuild', 'traces', '--throttle', '2')
    await once(first.stdout!, 'data')
    const second = await run('rebuild', 'traces')
    expect([second.code, second.out]).to.deep.equal([1, ''])
    expect(second.err).to.match(/rebuild traces \(another rebuild of it is under way/)
    first.kill('SIGKILL')
    await once(first, 'close')
    const plan = listOf(lastLine(await run('rebuild', 'traces', '--dry-run', '--json')), 'plans')[0]
    expect(plan).to.include({ resumes: true })
    const third = await run('rebuild', 'traces', '--json')
    expect(third.code, third.err).to.equal(0)
    expect(listOf(lastLine(third), 'rebuilt')[0]).to.include({ resumed: true, outcome: 'moved' })
  })

  it('finds one changed byte and names the document, with exit code 1; rebuild of the workspace repairs it', async () => {
    const build = await live('logs')
    const workspace = String(listOf(await cli(server, 'workspace', 'list'), 'workspaces')[0]?.['id'])
    const folder = join(server.dataFolder, 'index', build, workspace)
    const file = readdirSync(folder).find((name) => name.endsWith('.db')) ?? ''
    const database = new DatabaseSync(join(folder, file), { timeout: 5_000 })
    const where = `WHERE row = (SELECT row FROM b_logs WHERE body LIKE '%order 14 was stored%')`
    const id = String(database.prepare(`SELECT id FROM r_logs ${where}`).get()?.['id'])
    database.exec(`UPDATE b_logs SET body = replace(body, 'order 14 was', 'order 14 wax') ${where}`)
    database.close()
    const text = await run('verify', 'logs')
    expect(text.code).to.equal(1)
    expect(text.out).to.contain(id).and.to.contain('order 14 wax').and.to.contain('order 14 was')
    const verdict = listOf(lastLine(await run('verify', 'logs', '--json')), 'verdicts')[0] ?? {}
    expect(verdict).to.include({ equal: false })
    expect(listOf(verdict, 'differences').map((difference) => difference['id'])).to.deep.equal([id])
    const repaired = await run('rebuild', 'logs', '--workspace', workspace)
    expect(repaired.code, repaired.err).to.equal(0)
    await verifyAll()
  })

  it('fails with exit code 2 when it cannot compare', async () => {
    const failed = await run('verify', 'logs', '--workspace', 'nobody')
    expect([failed.code, failed.out]).to.deep.equal([2, ''])
    expect((await run('verify', 'lags')).code).to.equal(2)
    expect((await run('verify', 'lags')).err).to.contain('did you mean logs?')
  })
})

describe('replay', function () {
  let from: Server
  let to: Server
  before(async () => {
    from = await startServer()
    to = await startServer()
    const sending = sendingTo(from, from.firstRun.keys)
    for (let n = 0; n < 4; n++) {
      await sending.logs([{ message: `line ${n} 支付`, service: 'replayed' }])
      await sending.spans([{ traceId: hex(32, 'replayed', n), spanId: hex(16, n), startNs: nowNs() }])
    }
    await sending.rum({
      meta: { session: { id: 's-1' } },
      events: [{ name: 'click', timestamp: new Date().toISOString() }],
    })
    await untilIndexed(from)
  })
  after(async () => {
    for (const { stop, dataFolder } of [from, to]) {
      await stop()
      await removeFolder(dataFolder)
    }
  })
  const runOn = (dataFolder: string, environment: Readonly<Record<string, string>>, args: readonly string[]): Ran => {
    const argv = ['src/main.ts', 'replay', ...args, '--data', dataFolder]
    const env = { ...process.env, ...environment }
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', env })
    return { code: status, out: stdout, err: stderr }
  }
  const run = (environment: Readonly<Record<string, string>>, ...args: readonly string[]): Ran =>
    runOn(from.dataFolder, environment, args)
  const linesOf = ({ out }: Ran): readonly JsonObject[] =>
    out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject)

  it('shows the headers of events, by position, time, type and workspace', () => {
    const all = linesOf(run({}))
    const ofType = (type: string): number => all.filter((line) => line['type'] === type).length
    expect([ofType('logs.received'), ofType('spans.received'), ofType('rum.received')]).to.deep.equal([4, 4, 1])
    const positions = all.map(({ position }) => Number(position))
    expect(positions).to.deep.equal(positions.toSorted((a, b) => a - b))
    const [first = 0, second = 0] = positions
    const range = linesOf(run({}, '--from', `0/${first}`, '--to', String(second)))
    expect(range.map(({ position }) => position)).to.deep.equal([first, second])
    const spans = linesOf(run({}, '--type', 'spans.received', '--workspace', from.firstRun.workspace))
    expect(spans).to.deep.equal(all.filter(({ type }) => type === 'spans.received'))
    expect(run({}, '--from', '2999-01-01T00:00').out).to.equal('')
    // UTC, wherever this runs.
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString().slice(0, 19)
    const logsFrom = (TZ: string, at: string): string => run({ TZ }, '--type', 'logs.received', '--from', at).out
    for (const TZ of ['Pacific/Auckland', 'America/Los_Angeles']) {
      expect(logsFrom(TZ, inAnHour)).to.equal('')
      expect(logsFrom(TZ, '1h')).to.equal(logsFrom(TZ, '0'))
    }
    expect(run({}, '--workspace', 'nobody').code).to.equal(1)
    expect(run({}, '--type', 'logs.recieved').err).to.contain('did you mean logs.received?')
  })

  it('keeps events in a file that it reads back, and knows one that was cut or damaged', async () => {
    const folder = await newDataFolder()
    const file = join(folder, 'events')
    const { readFile, stat, writeFile } = await import('node:fs/promises')
    expect(run({}, '--out', file).code).to.equal(0)
    expect((await stat(file)).mode & 0o777).to.equal(0o600)
    // The server may give back a reservation meanwhile, which is an event too.
    const kept = linesOf(run({}, '--in', file))
    expect(kept).to.deep.equal(linesOf(run({}, '--to', String(kept.at(-1)?.['position']))))
    expect(kept).to.have.length.above(8)
    expect(run({}, '--out', file).err).to.match(/must not be there yet/)
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.slice(0, text.lastIndexOf('{"end"')))
    expect(run({}, '--in', file).err).to.match(/it was cut/)
    const payload = /"payload":"(.{8})/.exec(text)?.[1] ?? ''
    await writeFile(file, text.replace(`"payload":"${payload}`, `"payload":"${payload.split('').reverse().join('')}`))
    expect(run({}, '--in', file).err).to.match(/is damaged/)
    await writeFile(file, 'something else\n')
    expect(run({}, '--in', file).err).to.match(/was not written by throughline replay/)
    await removeFolder(folder)
  })

  it('takes a workspace of a file by its id, known here or not, and fails where the file has nothing of it', async () => {
    const folder = await newDataFolder()
    const file = join(folder, 'events')
    expect(run({}, '--out', file).code).to.equal(0)
    const workspace = String(linesOf(run({}, '--type', 'logs.received'))[0]?.['workspaceId'])
    const readThere = (id: string): Ran => runOn(folder, {}, ['--in', file, '--workspace', id])
    expect(readThere(workspace).err).to.equal('')
    expect(readThere(workspace).out).to.equal(run({}, '--in', file, '--workspace', workspace).out)
    expect(linesOf(readThere(workspace))).to.have.length.above(8)
    const { code, err } = readThere('w0123456789abcdef')
    expect([code, err]).to.deep.equal([
      1,
      `throughline: The file has no event of w0123456789abcdef. It has those of: ${workspace}.\n`,
    ])
    await removeFolder(folder)
  })

  it('sends events to another installation, where they are found once, however often they are sent', async () => {
    const { tracing, logs, publishable } = to.firstRun.keys
    const keys = { TRACES_TOKEN: tracing, LOGS_TOKEN: logs, RUM_KEY: publishable }
    expect(run(keys, '--to-url', to.baseUrl).err).to.contain('--to-url needs --workspace')
    const args = ['--to-url', to.baseUrl, '--workspace', from.firstRun.workspace, '--json']
    for (let time = 0; time < 2; time++) {
      const ran = run(keys, ...args)
      expect(ran.code, ran.err).to.equal(0)
      expect(JSON.parse(ran.out)).to.deep.include({ events: 9 })
    }
    await untilIndexed(to)
    const reader = await signIn(to.baseUrl, to.firstRun.sign_in)
    const found = await answerOf(reader, '/api/app/logs/search?service=replayed')
    expect(
      listOf(found, 'logs')
        .map(({ message }) => String(message))
        .toSorted(),
    ).to.deep.equal([0, 1, 2, 3].map((n) => `line ${n} 支付`))
    const traces = listOf(await answerOf(reader, '/api/app/traces/search'), 'traces')
    expect(traces.map(({ span_count }) => span_count)).to.deep.equal([1, 1, 1, 1])
    const refused = run({ ...keys, LOGS_TOKEN: tracing }, ...args)
    expect(refused.code).to.equal(1)
    expect(refused.err).to.match(/send the event at \d+ to http\S+ \(it answers 40[13]/)
  })

  it('says what the other installation has refused, and why, and fails', async () => {
    const { key } = await createSpanWorkspace(to, 'smaller', 'free')
    await untilKeyIsKnown([to.baseUrl], key)
    const filling = sendingTo(to, { ...to.firstRun.keys, tracing: key })
    const allowed = 50_000
    for (let sent = 0; sent < allowed - 3; sent += 9_999) {
      const few = Math.min(9_999, allowed - 3 - sent)
      // The same ones again and again cost the allowance, and no index.
      const sketch = (n: number) => ({ traceId: hex(32, 'filling', sent), spanId: hex(16, n % 20), startNs: nowNs() })
      await filling.spans(Array.from({ length: few }, (_, n) => sketch(n)))
    }
    const args = ['--type', 'spans.received', '--workspace', from.firstRun.workspace, '--to-url', to.baseUrl]
    const ran = run({ TRACES_TOKEN: key }, ...args, '--json')
    expect(ran.code, ran.err).to.equal(1)
    const [last] = linesOf(run({}, '--type', 'spans.received')).slice(-1)
    const { reason, ...rejection } = (JSON.parse(ran.out) as { rejections: [JsonObject] }).rejections[0]
    expect(rejection).to.deep.equal({ partition: '0', position: last?.['position'], rejected: 1 })
    expect(reason).to.match(/allowance/)
    expect(JSON.parse(ran.out)).to.deep.include({ events: 4, left_out: 0, rejected: 1 })
    const again = run({ TRACES_TOKEN: key }, ...args)
    expect([again.code, again.out]).to.deep.equal([
      1,
      `4 events sent to ${to.baseUrl}.\n1 records in 1 of them were refused there:\n0/${String(last?.['position'])}: 1, ${String(reason)}\n`,
    ])
  })
})
