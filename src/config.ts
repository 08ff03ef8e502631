import { z } from 'zod'
import { parseHttpAddresses } from '#src/lib/http-addresses.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'

/**
 * Every default, and the limits that a sender, a reader or an operator can run into. The README's table says what happens at each limit,
 * and a test compares the two. A bound that belongs to one file, such as one on what an index holds, is defined there and listed in
 * infra/operating.md; an internal bound that nobody can notice is only in its file.
 */
export const limits = {
  /** Request bodies, bytes: as sent, and after decompression. */
  bodyBytesMax: 20 * 1024 * 1024,
  decodedBytesMax: 64 * 1024 * 1024,
  /** A body may grow at most this much when decompressed, once it is over a megabyte. */
  compressionRatioMax: 200,
  bodyTimeoutMs: 10_000,
  /** One form of the app, and all forms held in memory at once: of people who are signed in, and as much of all others. */
  formBytesMax: 64 * 1024,
  formsInFlightBytesMax: 4 * 1024 * 1024,
  /** A search of `queryCharactersMax` characters in any script fits into an address: nine bytes each. */
  headerBytesMax: 65_536,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 90_000,
  /** A worker process that does not answer its parent for this long is killed and replaced. */
  workerSilenceMs: 30_000,
  stopPatienceMs: 8_000,
  /** Bytes of request bodies that a process holds at once, at most half of them of one workspace; above: 503. */
  bodiesInFlightBytesMax: 192 * 1024 * 1024,
  recordsPerBatchMax: 10_000,
  recordBytesMax: 1024 * 1024,
  attributesPerRecordMax: 256,
  nestingDepthMax: 32,
  jsonDepthMax: 256,
  spanEventsPerSpanMax: 1_000,
  linksPerSpanMax: 1_000,
  /** Attribute values, events, links and list items of one request, counted while scanning. */
  nodesPerRequestMax: 1_000_000,
  refusedSpansPerEventMax: 10_000,
  /** Rejected log records that an answer lists; it counts all of them. */
  rejectionsListedMax: 20,
  idempotencyKeyCharactersMax: 256,
  sessionIdCharactersMax: 128,
  queryCharactersMax: 4_096,
  queryTermsMax: 100,
  /** Words that a search may repeat. Each repeat costs a step a record that has the word; different words cost no more than the index has. */
  queryRepeatsMax: 600,
  queryDepthMax: 32,
  queryWarningsMax: 20,
  regexCharactersMax: 512,
  patternExpansionsMax: 1_000,
  patternScanTermsMax: 15_000_000,
  /** Token buckets: requests a second and the burst, per key and per workspace. */
  requestsPerKeyPerSecond: 5_000,
  requestsPerKeyBurst: 20_000,
  requestsPerWorkspacePerSecond: 10_000,
  requestsPerWorkspaceBurst: 40_000,
  queriesPerWorkspaceAtOnce: 16,
  /** Bytes of answers to queries that a process holds at once, at most half of them of one workspace; and what one counts for while it is made. */
  answersInFlightBytesMax: 512 * 1024 * 1024,
  queryBytes: 64 * 1024 * 1024,
  /** How long a query waits for its turn, and how many queries of a workspace may wait. */
  queryWaitMs: 5_000,
  queriesPerWorkspaceWaiting: 64,
  /** An answer is aborted when its client reads less than 64 KiB in this time. */
  answerStallMs: 60_000,
  exportsPerWorkspaceAtOnce: 4,
  exportsAtOnce: 16,
  signInsPerMinutePerAddress: 20,
  signInsPerMinutePerNetwork: 80,
  signInsPerMinutePerAccount: 10,
  sessionIdleMs: 7 * 86_400_000,
  sessionAbsoluteMs: 30 * 86_400_000,
  sessionsPerUserMax: 1_000,
  /** Active keys of a workspace; origins that a key may be bound to; how long a rotated key may keep working beside its successor. */
  keysPerWorkspaceMax: 1_000,
  originsPerKeyMax: 50,
  keyOverlapMsMax: 30 * 86_400_000,
  /** Index files that a process keeps open. */
  indexFilesOpenMax: 256,
  /** The same for the projector of an embedded server, and for its query threads together, if memory allows (compose/open-files.ts). */
  embeddedFilesOpenMax: 1_024,
  /** Files that a process must be allowed to open, or it does not start: it has some 90 without an index, and a search of a month opens 270. */
  openFilesMin: 512,
  /**
   * The earliest time that a clock can have, ms since the Unix epoch: a machine without a battery starts at 1970, or when its system was built,
   * until its time is set. Not the time of the log's newest event: that is later than now if the clock was ahead and has been set right.
   */
  clockMinMs: Date.UTC(2026, 0, 1),
  /** Room that an embedded server reserves on each of its disks, and the free bytes below which it gives that room up. */
  reserveBytes: 4 * 1024 * 1024,
  reserveFreeBytesMin: 1024 * 1024,
  /** Threads of an embedded server that answer queries; one workspace never has all of them. */
  queryThreadsMax: 3,
  projectorBatchEventsMax: 512,
  projectorBatchRecordsMax: 10_000,
  projectorBatchBytesMax: 16 * 1024 * 1024,
  /** How often one workspace of one index is compared with the log, and how many events a second are folded for it. */
  sampleEveryMs: 3_600_000,
  sampledEventsPerSecondMax: 2_000,
  /** How often expired days are dropped and logs are cut. */
  retentionEveryMs: 3_600_000,
  /** Days that an event stays in the log at least, because a month's allowance is counted from it; and how many days longer than its plan. */
  logDaysMin: 31,
  logDaysMore: 7,
  /** Days that a build which nobody folds may hold back the cut of the log, before it is dropped. */
  logDaysHeldMax: 14,
  /** Documents that a projector caches between batches, for each projection: how many, and about how many bytes. */
  cachedDocumentsMax: 50_000,
  cachedBytesMax: 64 * 1024 * 1024,
  appendBatchEventsMax: 4_096,
  appendBatchBytesMax: 32 * 1024 * 1024,
  appendQueueEventsMax: 20_000,
  appendQueueBytesMax: 128 * 1024 * 1024,
  /** Span allowance: how much a process reserves at once: at most, as a share of what is left, and below which only what is asked for. */
  reservedSpansMax: 65_536,
  reservedShare: 8,
  reservedSpansMin: 512,
  /** How long a reservation is used, how long it may be idle, and after which time other processes consider it abandoned. */
  reservationUseMs: 3_000,
  reservationIdleMs: 1_000,
  reservationTermMs: 10_000,
  /** Open reservations of one month of a workspace, over all processes. */
  reservationsOpenMax: 256,
  /**
   * How often a request looks whether other processes have returned spans, or whether fewer spans count. After this many looks it gets 503, or is
   * refused if no projector counts.
   */
  heldSpansPollMs: 100,
  heldSpansPollsMax: 25,
} as const
export type Limits = { readonly [Name in keyof typeof limits]: number }

/** The plan table; more rows for tests and self-hosters. Retention: days by receipt; the log keeps `logDaysMore` more. */
export const plans: Readonly<Record<string, WorkspacePlan>> = {
  free: { name: 'free', features: ['logs', 'tracing'], spansPerMonth: 50_000, retentionDays: 7 },
  pro: { name: 'pro', features: ['logs', 'tracing', 'api_access'], spansPerMonth: 1_000_000, retentionDays: 30 },
  unlimited: { name: 'unlimited', features: ['logs', 'tracing', 'api_access'], spansPerMonth: null, retentionDays: 30 },
  'logs-only': { name: 'logs-only', features: ['logs', 'api_access'], spansPerMonth: 50_000, retentionDays: 7 },
  'tracing-only': { name: 'tracing-only', features: ['tracing'], spansPerMonth: 50_000, retentionDays: 7 },
}

const flag = z
  .enum(['0', '1'], { error: 'is 0 or 1' })
  .default('0')
  .transform((value) => value === '1')

/** What a process does: ingest telemetry, fold it, answer readers, or all of it. The first argument of the command line. */
const roles = ['ingest', 'project', 'query', 'all'] as const
type Role = (typeof roles)[number]

const secretCharactersMin = 32
const secret = z.string().min(secretCharactersMin, `needs at least ${secretCharactersMin} random characters`)

/** With our own messages: zod speaks of types, while an operator wrote text. */
function whole(min: number, max: number) {
  const error = `is a whole number from ${min} to ${max}`
  const digits = z.string().regex(/^\s*\d+\s*$/, error)
  return digits.transform(Number).pipe(z.number().min(min, { error }).max(max, { error }))
}
const port = whole(0, 65_535)

const addressError = 'is http(s)://host or http(s)://host:port'
/** An address that paths are appended to, written as browsers write it: whether cookies are only for https depends on how it begins. */
const address = z
  .url({ protocol: /^https?$/i, error: addressError })
  .transform((text) => new URL(text))
  .refine(({ username, password, search, hash }) => username + password + search + hash === '', addressError)
  .transform(({ origin, pathname }) => origin + pathname.replace(/\/+$/, ''))

/** The message of what `parse` throws becomes the complaint. */
const complainOf = (parse: (text: string) => unknown) => (text: string, context: z.RefinementCtx<string>) => {
  try {
    parse(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
  }
}

const schema = z.object({
  PORT: port.default(8080),
  HOST: z.string().default('0.0.0.0'),
  /** The port of health and metrics, on the same address; without it they are not served. */
  OPERATIONS_PORT: port.optional(),
  THROUGHLINE_DATA: z.string().min(1).optional(),
  BASE_URL: address.optional(),
  /** How many proxies in front are trusted to set X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. */
  TRUSTED_PROXIES: whole(0, 10).default(0),
  TLS_CERT: z.string().optional(),
  TLS_KEY: z.string().optional(),
  SESSION_KEYS: secret.optional(),
  ALLOW_LAZY_LOG: flag,
  ALLOW_LOST_LOG: flag,
  NATS_URL: z
    .string()
    .regex(
      /^(nats|tls):\/\/[^\s,/]+(,(nats|tls):\/\/[^\s,/]+)*$/,
      'is nats://user:password@host:port, or several with commas',
    )
    .optional(),
  ELASTICSEARCH_URL: z.string().superRefine(complainOf(parseHttpAddresses)).optional(),
  PARTITIONS: whole(1, 256).default(4),
  /** The monitoring address of every NATS server, comma-separated; or else the operator's word that all sync before they acknowledge. */
  NATS_MONITORING_URL: z
    .string()
    .regex(/^https?:\/\/[^\s,]+(,https?:\/\/[^\s,]+)*$/, 'is http://host:port, or several with commas')
    .optional(),
  NATS_SYNC_ALWAYS: flag,
  NATS_REPLICAS: whole(1, 5).optional(),
  INDEX_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'has lower-case letters, digits and -, a letter first, at most 40')
    // An installation with the name before that part would remove our indices when it drops its build of that name.
    .regex(
      /^(?!.*-[a-z]+-v\d+-\d{3,}(-|$))/,
      'is named like a build of another installation (-logs-v1-001): choose another',
    )
    .default('throughline'),
  INDEX_SHARDS: whole(1, 100).default(1),
  INDEX_REPLICAS: whole(0, 10).optional(),
  INDEX_REFRESH_MS: whole(1, 60_000).default(500),
  KEY_PEPPER: secret.optional(),
  STOP_PATIENCE_MS: whole(0, 600_000).default(limits.stopPatienceMs),
  /** 0: no limit, as for a worker that is being debugged. */
  WORKER_SILENCE_MS: whole(0, 3_600_000)
    .refine((ms) => ms === 0 || ms >= 1_000, 'is 0 or at least 1000')
    .default(limits.workerSilenceMs),
  INDEX_SAMPLE_MS: whole(100, 604_800_000).default(limits.sampleEveryMs),
})
type Environment = z.output<typeof schema>

/** The names of all variables that a process is configured by. */
export const settingNames: readonly string[] = Object.keys(schema.shape)

/** The log of a cluster. */
export type LogConfig = Readonly<{
  natsUrl: string
  /** Fixed when the log is made. */
  partitions: number
  /** How it is known that NATS syncs before it acknowledges; undefined: it is not. */
  durability: Readonly<{ monitoring: readonly string[] }> | Readonly<{ stated: true }> | undefined
  /** Accept a log that could lose acknowledged events. */
  allowLazyLog: boolean
  allowLostLog: boolean
  /** Copies of the log; undefined: three where there are three servers, else one. */
  natsReplicas: number | undefined
  /** Tells this installation from others on the same engines. */
  indexPrefix: string
}>

/** The engines of a cluster, and what all of its processes must have in common. */
export type ClusterConfig = LogConfig &
  Readonly<{
    elasticsearchUrl: string
    /** Of each daily index created from now on; `replicas` undefined: one, if there are at least two nodes. */
    indexSettings: Readonly<{ shards: number; replicas: number | undefined }>
    /** The shortest time between two refreshes, which make folded documents searchable; a shorter one costs Elasticsearch more. */
    indexRefreshMs: number
    /** Keys the hashes of API keys. */
    pepper: string
    sessionKeys: readonly string[]
  }>

export type Config = Readonly<{
  role: Role
  port: number
  host: string
  operationsPort: number | undefined
  /** Only in the embedded form. */
  dataFolder: string
  baseUrl: string | undefined
  /** How often one workspace of one index is compared with the log. */
  sampleEveryMs: number
  /** How long a worker process may leave its parent without an answer; 0: no limit. */
  workerSilenceMs: number
  stopPatienceMs: number
  trustedProxies: number
  tls: Readonly<{ certFile: string; keyFile: string }> | undefined
  sessionKeys: readonly string[] | undefined
  pepper: string | undefined
  /** undefined: the embedded form. */
  cluster: ClusterConfig | undefined
}>

/** What is wrong with the environment or the flags, one line each; shown to the operator, exit code 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** `--data x`, `--port=1` → environment names. Each variable is also a flag: PORT is --port, BASE_URL --base-url. */
function flagsToEnvironment(flags: readonly string[]): Record<string, string> {
  const names = new Map(Object.keys(schema.shape).map((name) => [`--${name.toLowerCase().replaceAll('_', '-')}`, name]))
  names.set('--data', 'THROUGHLINE_DATA')
  const environment: Record<string, string> = {}
  for (let index = 0; index < flags.length; index++) {
    const [flagName = '', inline] = (flags[index] ?? '').split(/=(.*)/s)
    const name = names.get(flagName)
    if (!flagName.startsWith('--')) throw new ConfigError(`${flagName} is no flag; a verb or a role stands first`)
    if (name === undefined) throw new ConfigError(`unknown flag ${flagName}; known: ${[...names.keys()].join(' ')}`)
    const value = inline ?? flags[++index]
    if (value === undefined) throw new ConfigError(`${flagName} needs a value`)
    environment[name] = value
  }
  return environment
}

function parseEnvironment(environment: NodeJS.ProcessEnv): Environment {
  // An empty variable counts as not set, and so does one of nothing but white space, such as a file's last line.
  const set = Object.entries(environment).filter(([, value]) => value?.trim() !== '')
  const parsed = schema.safeParse(Object.fromEntries(set))
  if (parsed.success) return parsed.data
  throw new ConfigError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'))
}

function missingSecret(name: string): ConfigError {
  return new ConfigError(
    `${name} is missing: all processes of a cluster share it, and none may make it up; set it to ${secretCharactersMin} or more random characters (openssl rand -hex 32)`,
  )
}

/** A blank after a comma is no part of a key: the key would be another one once it stands first, and all who signed in by it signed out. */
const keysOf = (list: string): readonly string[] => list.split(',').map((key) => key.trim())

function durabilityOf(data: Environment): ClusterConfig['durability'] {
  if (data.NATS_MONITORING_URL !== undefined) return { monitoring: data.NATS_MONITORING_URL.split(',') }
  return data.NATS_SYNC_ALWAYS ? { stated: true } : undefined
}

const logOf = (data: Environment, natsUrl: string): LogConfig => ({
  natsUrl,
  partitions: data.PARTITIONS,
  durability: durabilityOf(data),
  allowLazyLog: data.ALLOW_LAZY_LOG,
  allowLostLog: data.ALLOW_LOST_LOG,
  natsReplicas: data.NATS_REPLICAS,
  indexPrefix: data.INDEX_PREFIX,
})

/** The cluster that the environment names; undefined if it names none. */
function clusterOf(data: Environment): ClusterConfig | undefined {
  const { NATS_URL: natsUrl, ELASTICSEARCH_URL: elasticsearchUrl } = data
  if (natsUrl === undefined && elasticsearchUrl === undefined) return undefined
  if (natsUrl === undefined || elasticsearchUrl === undefined) {
    const [given, missing] = natsUrl === undefined ? ['ELASTICSEARCH', 'NATS'] : ['NATS', 'ELASTICSEARCH']
    throw new ConfigError(
      `${given}_URL is set and ${missing}_URL is not: a cluster needs both; without both, everything runs embedded in this process`,
    )
  }
  if (data.SESSION_KEYS === undefined) throw missingSecret('SESSION_KEYS')
  if (data.KEY_PEPPER === undefined) throw missingSecret('KEY_PEPPER')
  return {
    ...logOf(data, natsUrl),
    elasticsearchUrl,
    indexSettings: { shards: data.INDEX_SHARDS, replicas: data.INDEX_REPLICAS },
    indexRefreshMs: data.INDEX_REFRESH_MS,
    pepper: data.KEY_PEPPER,
    sessionKeys: keysOf(data.SESSION_KEYS),
  }
}

function tlsOf({ TLS_CERT: certFile, TLS_KEY: keyFile }: Environment): Config['tls'] {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile }
  if (certFile === undefined && keyFile === undefined) return undefined
  throw new ConfigError('TLS_CERT and TLS_KEY belong together: give both or neither')
}

/** Two sockets may be bound to one port before either listens, so equal ports are refused here. 0 is another port each time. */
function portsOf({
  PORT: port,
  OPERATIONS_PORT: operationsPort,
}: Environment): Pick<Config, 'port' | 'operationsPort'> {
  if (port !== 0 && port === operationsPort)
    throw new ConfigError('OPERATIONS_PORT and PORT are the same: give each its own')
  return { port, operationsPort }
}

/** The cluster that the environment names, for the command line; undefined: the embedded form. Throws ConfigError. */
export const readClusterConfig = (environment: NodeJS.ProcessEnv): ClusterConfig | undefined =>
  clusterOf(parseEnvironment(environment))

/** The log that the environment names, whatever else of a cluster it names. Throws ConfigError. */
export function readLogConfig(environment: NodeJS.ProcessEnv): LogConfig {
  const data = parseEnvironment(environment)
  if (data.NATS_URL === undefined) throw new ConfigError('NATS_URL is missing: nats://user:password@host:port')
  return logOf(data, data.NATS_URL)
}

export const isRole = (word: string | undefined): word is Role => roles.some((role) => role === word)

/** What a process of a role does: takes requests in, folds the log, answers queries. */
export const dutiesOf = ({ role }: Pick<Config, 'role'>) => ({
  takesIn: role === 'ingest' || role === 'all',
  folds: role === 'project' || role === 'all',
  answers: role === 'query' || role === 'all',
})

/** Checks the environment and the command line: an optional role, and flags, which take precedence. Throws ConfigError. */
export function readConfig(environment: NodeJS.ProcessEnv, argv: readonly string[] = []): Config {
  const [first] = argv
  const role = isRole(first) ? first : 'all'
  const data = parseEnvironment({ ...environment, ...flagsToEnvironment(isRole(first) ? argv.slice(1) : argv) })
  const cluster = clusterOf(data)
  if (cluster === undefined && role !== 'all') {
    throw new ConfigError(
      `the role ${role} is a part of a cluster: set NATS_URL and ELASTICSEARCH_URL, or leave the role out to run everything here`,
    )
  }
  if (cluster !== undefined && data.THROUGHLINE_DATA !== undefined) {
    throw new ConfigError('THROUGHLINE_DATA: a process of a cluster keeps nothing on disk; unset it, or unset NATS_URL')
  }
  return {
    role,
    ...portsOf(data),
    host: data.HOST,
    dataFolder: data.THROUGHLINE_DATA ?? './data',
    baseUrl: data.BASE_URL,
    sampleEveryMs: data.INDEX_SAMPLE_MS,
    workerSilenceMs: data.WORKER_SILENCE_MS,
    stopPatienceMs: data.STOP_PATIENCE_MS,
    trustedProxies: data.TRUSTED_PROXIES,
    tls: tlsOf(data),
    sessionKeys: data.SESSION_KEYS === undefined ? undefined : keysOf(data.SESSION_KEYS),
    pepper: data.KEY_PEPPER,
    cluster,
  }
}
