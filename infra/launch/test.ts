import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import Mocha from 'mocha'
import { lendEngines } from '../engines/lend.ts'
import { bringEngine } from '../engines/test-engines.ts'
import { bringChromium } from '../machine/browser.ts'
import { bringEngines, keepAddressesForTests } from './engines.ts'
import { bringGofmt } from '../machine/go.ts'
import { bringPython } from '../machine/python.ts'
import { fail } from './unhandled-rejections.ts'

// `npm test [-- --grep TEXT] [FILE ...]`: brings what the tests meet, runs them, and closes with a plain count. `npm run soak`
// runs them with the fault and load suites in their long form.
const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  options: { grep: { type: 'string' }, soak: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const serverVariables = `PORT HOST OPERATIONS_PORT BASE_URL TRUSTED_PROXIES TLS_CERT TLS_KEY THROUGHLINE_DATA SESSION_KEYS
  NATS_URL NATS_SYNC_ALWAYS NATS_MONITORING_URL NATS_REPLICAS ALLOW_LAZY_LOG ALLOW_LOST_LOG PARTITIONS ELASTICSEARCH_URL INDEX_PREFIX INDEX_SHARDS INDEX_REPLICAS INDEX_REFRESH_MS INDEX_SAMPLE_MS
  KEY_PEPPER WORKER_SILENCE_MS STOP_PATIENCE_MS`

if (values.soak) process.env['SOAK'] = '1'
try {
  process.env['CHROMIUM'] = bringChromium()
  const [python] = await Promise.all([bringPython(), bringEngines()])
  process.env['SENDERS_PYTHON'] = python
  process.env['GOFMT'] = bringGofmt()
} catch (failure) {
  console.error(failure instanceof Error ? failure.message : failure)
  process.exit(1)
}
// Neither a test server nor a sender in a test may depend on what the developer's shell happens to hold, as after the README's `export`.
keepAddressesForTests()
const senderVariables = Object.keys(process.env).filter((name) => name.startsWith('OTEL_'))
for (const name of [...serverVariables.split(/\s+/), ...senderVariables]) delete process.env[name]
// A JVM costs a minute of a processor until it is warm: the processes of a run share one.
Object.assign(process.env, await lendEngines(bringEngine))

// Tests start hundreds of processes from the same sources: half of what they cost is compiling these, which is done once.
const compiled = mkdtempSync(join(tmpdir(), 'throughline-compiled-'))
process.env['NODE_COMPILE_CACHE'] ??= compiled
process.once('exit', () => rmSync(compiled, { recursive: true, force: true, maxRetries: 3 }))

// A timeout is for what hangs, not for a machine that others use as well: tests wait for what they need, however long that takes.
const timeout = 300_000
/** Those that keep both processors at work, evenly among those that mostly wait: for engines that start, for processes that stop. */
function spread(files: readonly string[]): readonly string[] {
  const [busy, waiting] = [files.filter(isOfCluster), files.filter((file) => !isOfCluster(file))]
  const placed = [busy, waiting].flatMap((kind) =>
    kind.map((file, index) => ({ file, at: (index + 0.5) / kind.length })),
  )
  return placed.sort((a, b) => a.at - b.at).map(({ file }) => file)
}
const isOfCluster = (file: string): boolean => file.includes('test/cluster/')
const files = spread(positionals.length > 0 ? positionals : globSync('test/**/*.test.ts').sort())
/** Of three at a time, what one waits for costs the others more than they gain: tests poll, and clients send until something has happened. */
const jobs = Math.min(2, files.length)
const grep = values.grep === undefined ? {} : { grep: values.grep }
// In parallel each process of tests takes them from their file, and this one ends at such a rejection by itself.
const hooks = jobs > 1 ? { require: [resolve('infra/launch/unhandled-rejections.ts')] } : {}
if (jobs === 1) process.on('unhandledRejection', fail)
const mocha = new Mocha({ ui: 'bdd', timeout, parallel: jobs > 1, jobs, ...hooks, ...grep })
for (const file of files) mocha.addFile(resolve(file))
if (jobs === 1) await mocha.loadFilesAsync()

const runner = mocha.run((failures) => {
  const passed = runner.stats?.passes ?? 0
  console.log(`${passed} passed, ${failures} failed`)
  // Exit explicitly: a leaked handle of one test must not hang the run; a run without tests is a failure.
  process.exit(failures === 0 && passed > 0 ? 0 : 1)
})
