import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { startElasticsearch } from '../engines/elasticsearch.ts'
import { startTogether, type Engine } from '../engines/engine.ts'
import { startNats } from '../engines/nats.ts'
import { bringEngines } from '../launch/engines.ts'
import { untilSignalled } from '../machine/until-signalled.ts'
import { createFront } from './front.ts'
import { startMember, type Member, type Role } from './member.ts'

// `npm run cluster -- --ingest 2 --project 2 --query 2`: the engines, so many processes of each role, and one address before them,
// until Ctrl-C. With NATS_URL and ELASTICSEARCH_URL in the environment it works on those engines instead of its own.

const roles: readonly Role[] = ['ingest', 'project', 'query']
const processesMax = 16
/** For answers that their clients read slowly. */
const stopPatienceMs = 8_000

/** An empty variable counts as not set, as for the server. */
const given = Object.fromEntries(Object.entries(process.env).filter(([, value]) => value?.trim() !== ''))

const options = {
  ingest: { type: 'string', default: '2' },
  project: { type: 'string', default: '2' },
  query: { type: 'string', default: '2' },
  port: { type: 'string', default: given['PORT'] ?? '8080' },
  host: { type: 'string', default: given['HOST'] ?? '0.0.0.0' },
  data: { type: 'string', default: './data/cluster' },
} as const

function readArguments() {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    console.error(`cluster: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`)
    return process.exit(2)
  }
}
const values = readArguments()

/** What went wrong in one line, for who started us. */
class Refusal extends Error {}

function countOf(role: Role): number {
  const count = Number(values[role])
  if (Number.isInteger(count) && count >= 1 && count <= processesMax) return count
  throw new Refusal(`--${role} is a number of processes from 1 to ${processesMax}`)
}

function portOf(): number {
  if (/^\d{1,5}$/.test(values.port) && Number(values.port) <= 65_535) return Number(values.port)
  throw new Refusal('--port is a whole number from 0 to 65535')
}

/** What the members have in common: the rest of a server's settings is of one process, or of the front, which speaks plain http. */
function commonSettings(): NodeJS.ProcessEnv {
  const ofOne = ['PORT', 'HOST', 'OPERATIONS_PORT', 'THROUGHLINE_DATA', 'TLS_CERT', 'TLS_KEY']
  return Object.fromEntries(Object.entries(given).filter(([name]) => !ofOne.includes(name)))
}

/** Engines of our own, and secrets for as long as they last. */
async function startEngines(): Promise<Readonly<{ engines: readonly Engine[]; environment: NodeJS.ProcessEnv }>> {
  console.log('Starting NATS and Elasticsearch …')
  await bringEngines()
  const engines = await startTogether([startNats(), startElasticsearch()])
  const [nats, elasticsearch] = engines
  const secret = (): string => randomBytes(32).toString('hex')
  return {
    engines,
    environment: {
      NATS_URL: nats?.url,
      NATS_SYNC_ALWAYS: '1',
      ELASTICSEARCH_URL: elasticsearch?.url,
      SESSION_KEYS: secret(),
      KEY_PEPPER: secret(),
    },
  }
}

async function startMembers(environment: NodeJS.ProcessEnv): Promise<readonly Member[]> {
  const wanted = roles.flatMap((role) =>
    Array.from({ length: countOf(role) }, (_, index) => ({ role, name: `${role} ${index + 1}` })),
  )
  const starting = wanted.map(({ role, name }) =>
    startMember({ role, name, environment, print: (line) => console.log(`[${name}] ${line}`) }),
  )
  const outcomes = await Promise.allSettled(starting)
  const members = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  if (members.length === wanted.length) return members
  await Promise.all(members.map((member) => member.stop()))
  throw new Refusal('the cluster could not be started (see above)')
}

async function listen(members: readonly Member[]): Promise<Server> {
  const addresses = (role: Role) => (): readonly string[] =>
    members.filter((member) => member.role === role).flatMap((member) => member.address() ?? [])
  const front = createFront({ ingest: addresses('ingest'), query: addresses('query') })
  front.listen(portOf(), values.host)
  await once(front, 'listening').catch((error: unknown) => {
    throw new Refusal(
      `listen on ${values.host}:${values.port}: ${error instanceof Error ? error.message : String(error)}`,
    )
  })
  return front
}

function urlOf(front: Server): string {
  const { port } = front.address() as AddressInfo
  const host = values.host.includes(':') ? `[${values.host}]` : values.host
  return `http://${['0.0.0.0', '[::]'].includes(host) ? 'localhost' : host}:${port}`
}

/** Takes no more connections, lets the members answer what is under way, and passes that on for as long as a server would. */
async function retire(front: Server, stopMembers: () => Promise<unknown>): Promise<void> {
  const closed = once(front, 'close')
  front.close()
  await stopMembers()
  front.closeIdleConnections()
  const timer = setTimeout(() => front.closeAllConnections(), stopPatienceMs)
  await closed
  clearTimeout(timer)
}

/** The first run's text, where this is it, by the command line as an operator would. */
function showFirstRun(environment: NodeJS.ProcessEnv, baseUrl: string): void {
  const argv = ['src/main.ts', 'first-run', '--base-url', baseUrl, '--data', values.data]
  const { status } = spawnSync(process.execPath, argv, { env: environment, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Refusal('the first run failed (see above)')
}

/** Whoever read what it prints may be gone. */
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)

/** Starts everything; ends when a signal has come and all is stopped. */
async function run(): Promise<void> {
  const stops: (() => unknown)[] = []
  try {
    for (const role of roles) countOf(role)
    portOf()
    const own = given['NATS_URL'] === undefined && given['ELASTICSEARCH_URL'] === undefined
    const { engines, environment: ours } = own ? await startEngines() : { engines: [], environment: {} }
    stops.push(() => Promise.all(engines.map((engine) => engine.remove())))
    const environment = { ...commonSettings(), ...ours, TRUSTED_PROXIES: '1' }
    const members = await startMembers(environment)
    const stopMembers = (): Promise<unknown> => Promise.all(members.map((member) => member.stop()))
    stops.push(stopMembers)
    // Until now a signal ends us at once, which may be during a download: engines and members end with us.
    const signalled = untilSignalled()
    const front = await listen(members)
    stops.push(() => retire(front, stopMembers))
    const baseUrl = given['BASE_URL'] ?? urlOf(front)
    showFirstRun(environment, baseUrl)
    const counts = roles.map((role) => `${countOf(role)} ${role}`).join(', ')
    console.log(`Throughline listening on ${urlOf(front)} (${counts})`)
    await signalled
    console.log('answering what is under way, then stopping')
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

try {
  await run()
} catch (error) {
  console.error(error instanceof Refusal ? `cluster: ${error.message}` : error)
  process.exitCode = 1
}
