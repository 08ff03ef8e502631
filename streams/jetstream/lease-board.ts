import { TransientError } from '#src/lib/failure.ts'
import { askApi, callApi, failureOf, noLeaderHint, parseAnswer, serverCodes, type ServerError } from './api.ts'
import type { Nats } from './nats.ts'
import { replicasOn } from './stream-config.ts'

/** A lease that is not renewed for this long is free for others. */
export const leaseTtlMs = 5_000
/** As shares of that time: when a lease is renewed, and how long before its end the holder stops. */
export const renewAfter = 0.3
export const stopBefore = 0.2

/** The number of a partition, or a name (letters, digits and `-`) of other work that one process does at a time. */
type Leased = number | string

/** Where processes announce themselves and hold leases. Both expire unless they are renewed. */
export type LeaseBoard = Readonly<{
  ttlMs: number
  /** Announces this process. */
  attend(id: string): Promise<void>
  leave(id: string): Promise<void>
  /** The processes that have announced themselves. */
  members(): Promise<readonly string[]>
  /** Takes a lease that nobody holds, and returns its revision; undefined if somebody holds it. */
  take(leased: Leased, id: string): Promise<number | undefined>
  /** Renews a lease by the last revision that its holder knows of, and returns the next one; undefined if the lease is lost. */
  renew(leased: Leased, id: string, revision: number): Promise<number | undefined>
  /** Gives a lease back, unless it is lost. */
  giveBack(leased: Leased, revision: number): Promise<void>
}>

type LeaseBoardOptions = Readonly<{
  nats: Nats
  /** As `logName` takes it. */
  prefix: string
  ttlMs?: number
  /** The same as for the log. */
  replicas?: number | undefined
}>

const subjectOfFailure = 'the leases of partitions'
const nsPerMs = 1_000_000

const failure = (operation: string, error: ServerError): Error => failureOf(error, operation, subjectOfFailure)

type Changeable = Readonly<{ num_replicas: number; max_age: number; duplicate_window: number }>
type Config = Changeable & Readonly<{ storage: 'memory' | 'file'; description?: string }>

const description = 'Which projector folds which partition of the log'
const inFiles = `${description}; in files, because the server grants no memory`

/** The configuration of a stream that is there. */
async function configOf(nats: Nats, stream: string): Promise<Config> {
  const found = await callApi(nats, `STREAM.INFO.${stream}`, {}, { operation: 'look at', subject: subjectOfFailure })
  return found['config'] as Config
}

/** Updates the stream's configuration, which may differ if servers were added since it was made. */
async function renewConfig(nats: Nats, stream: string, wanted: Changeable): Promise<void> {
  const config = await configOf(nats, stream)
  const keys = Object.keys(wanted) as readonly (keyof Changeable)[]
  if (keys.every((key) => config[key] === wanted[key])) return
  const changed = await askApi(nats, `STREAM.UPDATE.${stream}`, { ...config, ...wanted })
  if ('answer' in changed) return
  // The stream works as it is, and the next process that opens it tries again. Or another process is changing it now.
  const { noPeers, reconfigureInProgress } = serverCodes
  if (changed.error.code === noPeers || changed.error.code === reconfigureInProgress) return
  throw failure('change', changed.error)
}

/** Removes a stream that an earlier program has made in files, which no update changes; who held a lease takes it again. True if it was one. */
async function removeIfInFiles(nats: Nats, stream: string): Promise<boolean> {
  const config = await configOf(nats, stream)
  if (config.storage === 'memory' || config.description === inFiles) return false
  await askApi(nats, `STREAM.DELETE.${stream}`)
  return true
}

/**
 * One message for each subject, which expires by the server's clock. In memory, so that what was acknowledged is folded even while the disk of NATS
 * takes nothing more; where the server grants no memory, in files.
 */
async function provision(
  { nats, ttlMs, replicas }: LeaseBoardOptions & Readonly<{ ttlMs: number }>,
  stream: string,
  root: string,
): Promise<void> {
  const age = ttlMs * nsPerMs
  const wanted = { num_replicas: replicasOn(nats, replicas), max_age: age, duplicate_window: age }
  const make = (kind: Pick<Config, 'storage' | 'description'>) =>
    askApi(nats, `STREAM.CREATE.${stream}`, {
      name: stream,
      subjects: [`${root}.>`],
      ...kind,
      ...wanted,
      max_msgs_per_subject: 1,
      max_bytes: 1_048_576,
      discard: 'old',
      // Asked of the leader: a copy may be behind.
      allow_direct: false,
    })
  const { noMemory, noPeers, streamExistsOtherwise } = serverCodes
  const inMemory = { storage: 'memory', description } as const
  let made = await make(inMemory)
  const existed = 'error' in made && made.error.code === streamExistsOtherwise
  if (existed && (await removeIfInFiles(nats, stream))) made = await make(inMemory)
  if ('error' in made && (made.error.code === noMemory || made.error.code === noPeers)) {
    made = await make({ storage: 'file', description: inFiles })
  }
  if ('answer' in made) return
  if (made.error.code !== streamExistsOtherwise) throw failure('make', made.error)
  await renewConfig(nats, stream, wanted)
}

/** A board in a NATS stream: the last message of a subject counts; an empty one means that nobody holds the lease. */
export async function createLeaseBoard(options: LeaseBoardOptions): Promise<LeaseBoard> {
  const { nats, prefix, ttlMs = leaseTtlMs } = options
  const stream = `${prefix}-LEASES`
  const root = `${prefix}-leases`
  const members = `${root}.member.`
  const provisionBoard = (): Promise<void> => provision({ ...options, ttlMs }, stream, root)
  await provisionBoard()

  /** Writes to a subject if its last message has that revision (0: if it has none), and returns the next one; else undefined. */
  const post = async (
    subject: string,
    text: string,
    revision?: number,
    isAgain = false,
  ): Promise<number | undefined> => {
    const expected = revision === undefined ? {} : { 'Nats-Expected-Last-Subject-Sequence': String(revision) }
    const { code, data } = await nats.request(subject, Buffer.from(text), expected)
    if (code !== 0) {
      // A single server forgets the stream when it is restarted; of several, none may lead it.
      if (isAgain) throw new TransientError({ operation: 'write', subject: subjectOfFailure, hint: noLeaderHint })
      await provisionBoard()
      return post(subject, text, revision, true)
    }
    const { answer, error } = parseAnswer(data)
    if (error === undefined) return Number(answer['seq'])
    const { wrongLastSequence, wrongLastSequenceForNow } = serverCodes
    if (error.code === wrongLastSequence || error.code === wrongLastSequenceForNow) return undefined
    throw failure('write', error)
  }
  /** The last message of a subject. */
  const last = async (subject: string): Promise<Readonly<{ holder: string; revision: number }>> => {
    const read = await askApi(nats, `STREAM.MSG.GET.${stream}`, { last_by_subj: subject })
    if ('error' in read) {
      if (read.error.code === serverCodes.messageNotFound) return { holder: '', revision: 0 }
      throw failure('read', read.error)
    }
    const { data = '', seq } = read.answer['message'] as Readonly<{ data?: string; seq: number }>
    return { holder: Buffer.from(data, 'base64').toString(), revision: seq }
  }
  const leaseOf = (leased: Leased): string => `${root}.partition.${leased}`

  return {
    ttlMs,
    attend: async (id) => {
      await post(members + id, id)
    },
    leave: async (id) => {
      const doing = { operation: 'leave', subject: subjectOfFailure }
      await callApi(nats, `STREAM.PURGE.${stream}`, { filter: members + id }, doing)
    },
    members: async () => {
      const doing = { operation: 'read', subject: subjectOfFailure }
      const info = await callApi(nats, `STREAM.INFO.${stream}`, { subjects_filter: `${members}*` }, doing)
      const { subjects } = info['state'] as Readonly<{ subjects?: Readonly<Record<string, number>> | null }>
      return Object.keys(subjects ?? {}).map((subject) => subject.slice(members.length))
    },
    take: async (leased, id) => {
      const { holder, revision } = await last(leaseOf(leased))
      return holder === '' ? post(leaseOf(leased), id, revision) : undefined
    },
    renew: async (leased, id, revision) => {
      const renewed = await post(leaseOf(leased), id, revision)
      if (renewed !== undefined) return renewed
      // All was forgotten, and nobody was faster; or a renewal before was stored, and its answer lost. Then the work need not be interrupted.
      const { holder, revision: stored } = await last(leaseOf(leased))
      return stored === 0 || holder === id ? post(leaseOf(leased), id, stored) : undefined
    },
    giveBack: async (leased, revision) => {
      await post(leaseOf(leased), '', revision)
    },
  }
}
