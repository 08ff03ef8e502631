import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { askApi, failureOf, serverCodes, type ServerError } from './api.ts'
import type { Nats } from './nats.ts'
import { examineDurability, type DurabilityProof } from './durability.ts'
import { headerBytesMax } from './publish.ts'
import { configOf, lossesOf, misfitsOf, replicasOn, type StreamConfig, type Wanted } from './stream-config.ts'
import { infoOf, streamInfo, type StreamInfo } from './stream-state.ts'
import { directoryPartition, logName, type LogName } from './subjects.ts'

export type ProvisionOptions = Readonly<{
  /** How many streams share the workspaces. Fixed once they are made. */
  partitions: number
  /** Replicas of each message; default: 3 if the server belongs to a cluster, else 1. */
  replicas?: number
  /** Keeps several installations on one server apart. */
  prefix?: string
  /** Size limit of one partition's stream; default: a share of the server's storage, if that can be seen, else 8 GiB. */
  bytesMax?: number
  /** Without it, the servers are assumed not to sync before they acknowledge. */
  proof?: DurabilityProof
  /** Accept a log that could lose acknowledged events, and tell `warn`. */
  allowLazyLog: boolean
  /** Make a log anew, empty, that is gone from an installation; else that is refused. */
  allowLostLog?: boolean
  /** Refuse an installation that has no logs yet, instead of beginning it. */
  mustExist?: boolean
  /** Whether something else says that the installation had logs; asked once, and only where the directory's is not there. */
  isKnown?: () => Promise<boolean>
  warn?: (line: string) => void
}>

export const bytesMaxDefault = 8 * 1024 * 1024 * 1024
export const directoryBytesMax = 1024 * 1024 * 1024
/** The share of the server's storage that all streams together may take; the rest is for its own files. */
const storageShare = 0.8
const epochBytes = 10
/** An election takes some seconds, and longer right after servers start on a busy machine. */
const electionTimeoutMs = 60_000
const electionPauseMs = 250

const roomHint =
  'the streams of all PARTITIONS (8 GiB each) and of the directory (1 GiB) must fit in what each server may store, and all their replicas in what the account may: raise max_file_store (NATS_STORE_BYTES) or max_file, or set fewer PARTITIONS'

const hasNoRoom = ({ description }: ServerError): boolean => /insufficient storage/i.test(description)

/** What to do about a stream that cannot be created; undefined if the error says enough. */
function creationHint(error: ServerError, replicas: number): string | undefined {
  if (hasNoRoom(error)) return roomHint
  const { code } = error
  if (code !== serverCodes.replicasNeedCluster && code !== serverCodes.noPeers) return undefined
  return `NATS has not the servers for ${replicas} replicas: start them, or set NATS_REPLICAS`
}

function creationFailure(error: ServerError, { stream }: LogName, replicas: number): Error {
  const [operation, subject] = ['create', `stream ${stream}`]
  const hint = creationHint(error, replicas)
  if (hint === undefined) return failureOf(error, operation, subject)
  return new PermanentError({ operation, subject, hint, cause: new Error(error.description) })
}

/**
 * After a stream could not be created: returns it if another process has just made it, else throws the failure. If the server says that it has no
 * room, the stream may exist all the same, because the server checks its room first.
 */
async function madeByAnother(nats: Nats, { stream }: LogName, failure: Error, error: ServerError): Promise<StreamInfo> {
  if (error.code === serverCodes.streamExistsOtherwise)
    throw new TransientError({ operation: 'create', subject: `stream ${stream}`, hint: 'another process makes it' })
  if (!hasNoRoom(error)) throw failure
  await sleep(electionPauseMs)
  const made = await streamInfo(nats, stream)
  if (made === undefined) throw failure
  return made
}

/**
 * Creates the stream if there is none. If another process creates it first, throws TransientError; the retry finds it. `isGone`: whether there
 * was one before; asked only when none was found.
 */
async function createOrGet(
  nats: Nats,
  log: LogName,
  { wanted, isGone }: Readonly<{ wanted: () => Wanted; isGone: () => Promise<boolean> }>,
  { allowLostLog, mustExist, warn }: Pick<ProvisionOptions, 'allowLostLog' | 'mustExist' | 'warn'>,
): Promise<StreamInfo> {
  const found = await streamInfo(nats, log.stream)
  if (found !== undefined) return found
  // Another process may have made it since, with all that comes after it.
  const isLost = (await isGone()) && (await streamInfo(nats, log.stream)) === undefined
  if (isLost && allowLostLog !== true) throw lostLog(log)
  if (!isLost && mustExist === true) throw noLog(log)
  const config = wanted()
  const asked = await askApi(nats, `STREAM.CREATE.${log.stream}`, configOf(log, config))
  // Whoever left the setting in place would else not hear of the next one that is lost.
  if ('answer' in asked && isLost) warn?.(`stream ${log.stream} was gone and is made anew, empty: ${lostLogAdvice}`)
  if ('answer' in asked) return infoOf(asked.answer)
  return madeByAnother(nats, log, creationFailure(asked.error, log, config.replicas), asked.error)
}

const lostLogAdvice =
  'what it held is lost; take ALLOW_LOST_LOG away once all processes have started, or this happens again unasked'

/** A log made anew in its place would take positions that it has used, and the indexes, which hold the only copy, would follow that. */
function lostLog({ stream }: LogName): PermanentError {
  const hint =
    'it is gone, though the installation of this INDEX_PREFIX had it: name another one if this is a new installation; put it back from a backup of NATS; or, to go on with an empty one and without what it held, set ALLOW_LOST_LOG=1'
  return new PermanentError({ operation: 'use', subject: `stream ${stream}`, hint })
}

function noLog({ stream }: LogName): PermanentError {
  const hint =
    'it is not there: is INDEX_PREFIX, the name of the installation, the one that its processes have? A new one begins when they start'
  return new PermanentError({ operation: 'use', subject: `stream ${stream}`, hint })
}

/**
 * Retries while there is no leader: an election takes seconds, and until then the servers answer that they are not available, or not at all.
 * Only for processes that are starting; a running one fails at once, and its caller waits.
 */
export async function untilLed<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const started = performance.now()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof TransientError) || performance.now() - started > electionTimeoutMs) throw error
    }
    await sleep(electionPauseMs)
  }
}

/** What this account may store, each replica by itself. Throws when JetStream is not there for this user. */
async function accountBytes(nats: Nats): Promise<number | undefined> {
  const asked = await askApi(nats, 'INFO')
  if ('error' in asked) {
    const { code } = asked.error
    if (code !== serverCodes.notEnabled && code !== serverCodes.notEnabledForAccount) {
      throw failureOf(asked.error, 'use JetStream of', 'NATS')
    }
    const hint = 'JetStream is off there, or not allowed to this user: start nats-server with jetstream {}'
    throw new PermanentError({ operation: 'use JetStream of', subject: 'NATS', hint })
  }
  const { limits } = asked.answer as { limits?: { max_storage?: number } }
  return limits?.max_storage !== undefined && limits.max_storage > 0 ? limits.max_storage : undefined
}

function bytesMaxFor(partitions: number, storageBytes: number | undefined): number {
  if (storageBytes === undefined) return bytesMaxDefault
  const share = Math.floor((storageBytes * storageShare - directoryBytesMax) / partitions)
  if (share > 0) return share
  const hint = `it may store ${storageBytes} bytes: give it more, or fewer PARTITIONS`
  throw new PermanentError({ operation: 'plan streams on', subject: 'NATS', hint })
}

/** Why a stream could lose acknowledged events. Throws PermanentError if it does not fit this program. */
function problemsOf(
  config: StreamConfig,
  log: LogName,
  { partitions, replicas }: Pick<Wanted, 'partitions' | 'replicas'>,
): readonly string[] {
  const subject = `stream ${log.stream}`
  const losses = lossesOf(config, replicas)
  const misfits = misfitsOf(config, log, partitions)
  if (misfits.length === 0) return losses.map((loss) => `${subject}: ${loss}`)
  throw new PermanentError({ operation: 'use', subject, hint: [...misfits, ...losses].join('; ') })
}

/**
 * Creates missing streams of partitions and of the directory, and checks the existing ones. Throws PermanentError with a hint if a log could
 * lose acknowledged events (unless `allowLazyLog`) or does not fit this program, and TransientError if NATS does not answer for a minute.
 */
export const provisionLogs = (nats: Nats, options: ProvisionOptions): Promise<void> =>
  untilLed(() => provision(nats, options))

/** The smallest `max_payload` with which an event of the largest request can be stored: as many messages as go in one step. */
const payloadBytesMin = 64 * 1024

/** Throws where nothing at all can be stored, and tells where something cannot. */
function checkPayload(nats: Nats, warn: ProvisionOptions['warn']): void {
  const bytes = nats.payloadBytesMax()
  if (bytes >= payloadBytesMin) return
  const cause = new Error(`the server takes messages of at most ${bytes} bytes`)
  const hint = `raise its max_payload: ${payloadBytesMin} at least, 8MB as in infra/nats.conf is better`
  const failure = new PermanentError({ operation: 'keep events in', subject: 'NATS', cause, hint })
  if (bytes <= headerBytesMax) throw failure
  warn?.(`large requests will be refused: ${failure.message}`)
}

async function provision(nats: Nats, options: ProvisionOptions): Promise<void> {
  checkPayload(nats, options.warn)
  const { partitions, prefix, allowLazyLog, isKnown = async () => false, warn } = options
  const accountStorage = await accountBytes(nats)
  const { doubts, storageBytes } = await examineDurability(nats, options.proof)
  const problems = [...doubts]
  const refuseLazy = (remedy = ''): void => {
    if (problems.length === 0 || allowLazyLog) return
    const hint = `${remedy}ALLOW_LAZY_LOG=1 takes it all the same`
    const cause = new Error(problems.join('; '))
    throw new PermanentError({ operation: 'keep acknowledged events in', subject: 'NATS', cause, hint })
  }
  // Before anything is made there.
  refuseLazy()
  const replicas = replicasOn(nats, options.replicas)
  // Asked only for a stream that is to be made: those that are there go on where less may be stored by now.
  const mayStore = accountStorage === undefined ? storageBytes : Math.floor(accountStorage / replicas)
  const bytesMax = (): number => options.bytesMax ?? bytesMaxFor(partitions, mayStore)
  // The directory's comes last: where it is, all others were there. And nothing is written to any before all are there.
  const names = [...Array.from({ length: partitions }, (_, index) => String(index)), directoryPartition]
  let isUsed = false
  let copies = replicas
  let known: Promise<boolean> | undefined
  for (const partition of names) {
    const isGone = async (): Promise<boolean> => {
      if (partition === directoryPartition) return isUsed
      const directory = await streamInfo(nats, logName(directoryPartition, prefix).stream)
      return directory !== undefined || (await (known ??= isKnown()))
    }
    const log = logName(partition, prefix)
    const wanted = (): Wanted => ({
      epoch: randomBytes(epochBytes).toString('hex'),
      partitions,
      replicas,
      bytesMax: partition === directoryPartition ? Math.min(bytesMax(), directoryBytesMax) : bytesMax(),
    })
    const { config, state } = await createOrGet(nats, log, { wanted, isGone }, options)
    isUsed ||= state.last_seq > 0
    copies = Math.min(copies, config.num_replicas)
    problems.push(...problemsOf(config, log, { partitions, replicas }))
  }
  refuseLazy(copies < replicas ? `give the streams ${replicas} replicas, or set NATS_REPLICAS=${copies}; ` : '')
  if (problems.length > 0) warn?.(`acknowledged events may be lost: ${problems.join('; ')}`)
}
