import { z } from 'zod'
import type { WorkspacePlan } from '#src/directory/directory.ts'

/** Every default and every limit of the service. The README's table of limits is checked against this by a test. */
export const limits = {
  /** Request bodies, bytes: as sent, and after decompression. */
  bodyBytesMax: 20 * 1024 * 1024,
  decodedBytesMax: 64 * 1024 * 1024,
  /** A body may grow at most this much when decompressed, once it is over a megabyte. */
  compressionRatioMax: 200,
  bodyTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  keepAliveTimeoutMs: 90_000,
  /** Bytes of bodies held at once by all requests of a process: above it, 503. */
  bodiesInFlightBytesMax: 256 * 1024 * 1024,
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
  idempotencyKeyCharactersMax: 256,
  sessionIdCharactersMax: 128,
  queryCharactersMax: 4_096,
  queryTermsMax: 100,
  queryDepthMax: 32,
  patternExpansionsMax: 1_000,
  /** Token buckets: requests a second and the burst, per key and per workspace. */
  requestsPerKeyPerSecond: 5_000,
  requestsPerKeyBurst: 20_000,
  requestsPerWorkspacePerSecond: 10_000,
  requestsPerWorkspaceBurst: 40_000,
  queriesPerWorkspaceAtOnce: 16,
  exportsPerWorkspaceAtOnce: 4,
  signInsPerMinutePerAddress: 20,
  signInsPerMinutePerAccount: 10,
  sessionIdleMs: 7 * 86_400_000,
  sessionAbsoluteMs: 30 * 86_400_000,
  indexFilesOpenMax: 256,
  projectorBatchEventsMax: 512,
  projectorBatchRecordsMax: 10_000,
  /** Documents that a projector keeps loaded between batches, for each projection: how many, and about how many bytes. */
  cachedDocumentsMax: 50_000,
  cachedBytesMax: 64 * 1024 * 1024,
  appendBatchEventsMax: 4_096,
  appendBatchBytesMax: 32 * 1024 * 1024,
  appendQueueEventsMax: 20_000,
  appendQueueBytesMax: 128 * 1024 * 1024,
} as const
export type Limits = { readonly [Name in keyof typeof limits]: number }

/** The plan table; more rows for tests and self-hosters. Retention: days by receipt; the log keeps 7 more. */
export const plans: Readonly<Record<string, WorkspacePlan>> = {
  free: { name: 'free', features: ['logs', 'tracing'], spansPerMonth: 50_000, retentionDays: 7 },
  pro: { name: 'pro', features: ['logs', 'tracing', 'api_access'], spansPerMonth: 1_000_000, retentionDays: 30 },
  unlimited: { name: 'unlimited', features: ['logs', 'tracing', 'api_access'], spansPerMonth: null, retentionDays: 30 },
  'logs-only': { name: 'logs-only', features: ['logs', 'api_access'], spansPerMonth: 50_000, retentionDays: 7 },
  'tracing-only': { name: 'tracing-only', features: ['tracing'], spansPerMonth: 50_000, retentionDays: 7 },
}

const flag = z
  .enum(['0', '1'])
  .default('0')
  .transform((value) => value === '1')

const schema = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  HOST: z.string().default('0.0.0.0'),
  THROUGHLINE_DATA: z.string().min(1).default('./data'),
  BASE_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** How many proxies in front may be believed about X-Forwarded-For and X-Forwarded-Proto. */
  TRUSTED_PROXIES: z.coerce.number().int().min(0).max(10).default(0),
  TLS_CERT: z.string().optional(),
  TLS_KEY: z.string().optional(),
  SESSION_KEYS: z.string().min(32).optional(),
  ALLOW_LAZY_LOG: flag,
})

export type Config = Readonly<{
  port: number
  host: string
  dataFolder: string
  baseUrl: string | undefined
  trustedProxies: number
  tls: Readonly<{ certFile: string; keyFile: string }> | undefined
  sessionKeys: readonly string[] | undefined
  allowLazyLog: boolean
}>

/** What was wrong with the environment or the flags, a line each; shown to the operator, exit code 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** `--data-folder x`, `--port=1` → environment names. Each variable is also a flag: PORT is --port, BASE_URL --base-url. */
export function flagsToEnvironment(flags: readonly string[]): Record<string, string> {
  const names = new Map(Object.keys(schema.shape).map((name) => [`--${name.toLowerCase().replaceAll('_', '-')}`, name]))
  names.set('--data', 'THROUGHLINE_DATA')
  const environment: Record<string, string> = {}
  for (let index = 0; index < flags.length; index++) {
    const [flagName = '', inline] = (flags[index] ?? '').split(/=(.*)/s)
    const name = names.get(flagName)
    if (name === undefined) throw new ConfigError(`unknown flag ${flagName}; known: ${[...names.keys()].join(' ')}`)
    const value = inline ?? flags[++index]
    if (value === undefined) throw new ConfigError(`${flagName} needs a value`)
    environment[name] = value
  }
  return environment
}

/** Checks the environment, flags winning. Throws ConfigError. */
export function readConfig(environment: NodeJS.ProcessEnv, flags: readonly string[] = []): Config {
  const parsed = schema.safeParse({ ...environment, ...flagsToEnvironment(flags) })
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'))
  }
  const { data } = parsed
  if ((data.TLS_CERT === undefined) !== (data.TLS_KEY === undefined)) {
    throw new ConfigError('TLS_CERT and TLS_KEY belong together: give both or neither')
  }
  const tls = data.TLS_CERT !== undefined && data.TLS_KEY !== undefined
  return {
    port: data.PORT,
    host: data.HOST,
    dataFolder: data.THROUGHLINE_DATA,
    baseUrl: data.BASE_URL,
    trustedProxies: data.TRUSTED_PROXIES,
    tls: tls ? { certFile: data.TLS_CERT ?? '', keyFile: data.TLS_KEY ?? '' } : undefined,
    sessionKeys: data.SESSION_KEYS?.split(','),
    allowLazyLog: data.ALLOW_LAZY_LOG,
  }
}
