import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { settingNames } from '#src/config.ts'
import { BenchFailure } from './bench-client.ts'
import { benchAllowance } from './allowance.ts'
import { benchClusterIngest } from './cluster-ingest.ts'
import { benchClusterProject } from './cluster-project.ts'
import { benchClusterSearch } from './cluster-search.ts'
import { benchIngest } from './ingest.ts'
import { benchMixed } from './mixed.ts'
import { benchPeers } from './peers.ts'
import { benchProject } from './project.ts'
import { benchClusterRebuild, benchRebuild } from './rebuild.ts'
import { formatJson, formatTable, type Section } from './report.ts'
import { fullScale, smallScale, type BenchContext } from './scale.ts'
import { benchSearch } from './search.ts'

// `npm run bench -- allowance|ingest|mixed|peers|project|rebuild|search [--cluster] [--small] [--json]`: figures of the real server, each beside its floor from the same
// run. No figure fails a run; wrong work does: an answer that is no success, a record that no index counts.

type Bench = (context: BenchContext) => Promise<readonly Section[]>

const benches: Readonly<Record<string, Bench>> = {
  allowance: benchAllowance,
  ingest: benchIngest,
  mixed: benchMixed,
  peers: benchPeers,
  project: benchProject,
  rebuild: benchRebuild,
  search: benchSearch,
}
/** The same of a cluster, on engines of its own. */
const clusterBenches: Readonly<Record<string, Bench>> = {
  ingest: benchClusterIngest,
  project: benchClusterProject,
  rebuild: benchClusterRebuild,
  search: benchClusterSearch,
}
const usage = `Usage: npm run bench -- ${Object.keys(benches).join('|')} [--cluster] [--small] [--json] [--seed N]

Figures of the real server, each beside its floor from the same run. See test/bench/README.md.

  --cluster  on NATS and Elasticsearch, with a process of each role (not allowance, mixed, peers)
  --small    shows in some minutes that everything works; its figures are mostly warm-up
  --json     one JSON document instead of tables
  --seed N   other records; the same seed makes the same ones
`
const recordsBeginBeforeMs = 3_600_000

function readArguments() {
  const { values, positionals } = parseArgs({
    options: {
      cluster: { type: 'boolean' },
      small: { type: 'boolean' },
      json: { type: 'boolean' },
      seed: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  })
  if (values.help === true) {
    console.log(usage)
    process.exit(0)
  }
  if (values.seed !== undefined && !/^\d{1,15}$/.test(values.seed)) throw new Error('--seed is a whole number')
  const [name = '', ...others] = positionals
  const bench = (values.cluster === true ? clusterBenches : benches)[name]
  if (bench === undefined && Object.hasOwn(benches, name)) throw new Error(`${name} has no form with --cluster`)
  if (bench === undefined || others.length > 0) throw new Error(usage)
  return { ...values, name, bench }
}

function argumentsOrExit(): ReturnType<typeof readArguments> {
  try {
    return readArguments()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    console.error(message === usage ? usage : `${message.split('\n', 1)[0]}\n\n${usage}`)
    return process.exit(2)
  }
}

const { cluster = false, small = false, json = false, seed, name, bench } = argumentsOrExit()
const size = small ? smallScale : fullScale
const scale = { ...size, ...(seed === undefined ? {} : { seed: Number(seed) }) }
// The server under test must not depend on what the developer's shell happens to hold.
for (const setting of settingNames) delete process.env[setting]

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
const folder = mkdtempSync(join(tmpdir(), 'throughline-bench-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
let failed = false
try {
  const say = (text: string): void => console.error(`${new Date().toISOString().slice(11, 19)}  ${text}`)
  const sections = await bench({ scale, folder, startMs: Date.now() - recordsBeginBeforeMs, say })
  const head = { bench: name, cluster, small, seed: scale.seed, node: process.version, cores: availableParallelism() }
  console.log(json ? formatJson(head, sections) : formatTable(sections))
  if (small && !json) console.log('\nSmall: enough to show that it works; the figures are mostly warm-up.')
} catch (error) {
  failed = true
  console.error(error instanceof BenchFailure ? error.message : error)
}
process.exit(failed ? 1 : 0)
