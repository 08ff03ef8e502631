import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { numberIn, objectIn, objectsIn } from './answer-parts.ts'
import type { Elasticsearch } from './call.ts'
import { lookUp, type DocumentPlace } from './look-up.ts'
import { epochField, positionField } from './mapping.ts'
import {
  blockedHint,
  busyHint,
  closedHint,
  fewCopiesHint,
  forbiddenHint,
  isBlocked,
  isClosed,
  isWithoutPrimary,
  lacksCopies,
  mappingHint,
  reasonOf,
  tooLongHint,
  withoutPrimaryHint,
} from './reasons.ts'

/** One document to be written or deleted. Its version is the position of the last event folded into it. */
export type Operation = DocumentPlace &
  Readonly<{
    kind: 'index' | 'delete'
    position: Position
    /** JSON text; '' for a deletion. */
    document: string
  }>

/** A shard of each of these indices takes nothing, nor is it refreshed. */
export class NoPrimaryError extends TransientError {
  readonly indices: ReadonlySet<string>
  constructor(indices: Iterable<string>) {
    const all = new Set(indices)
    super({ operation: 'write to', subject: [...all].sort().join(', '), hint: withoutPrimaryHint })
    this.indices = all
  }
}

type BulkOptions = Readonly<{
  elasticsearch: Elasticsearch
  epoch: string
  /** Makes an index anew that was dropped meanwhile. */
  restore(index: string): Promise<void>
  pause?: (ms: number) => Promise<unknown>
}>

/** Bytes of a request's body, unless one document alone is larger, and requests under way at once. */
const bodyBytesMax = 4 * 1024 * 1024
const requestsAtOnce = 2
/** How long Elasticsearch waits for a primary shard, as while one moves to another node. Its own minute would hold up all projections of the partition. */
const primaryWait = '2s'
/** Tries of what was refused for want of room; the first pause between them, each later one twice as long. */
const triesMax = 6
const firstPauseMs = 100

function linesOf({ kind, index, key, workspaceId, position, document }: Operation): string {
  const place = `"_index":"${index}","_id":${JSON.stringify(key)},"routing":"${workspaceId}"`
  const action = `{"${kind}":{${place},"version":${position},"version_type":"external"}}\n`
  return kind === 'delete' ? action : `${action}${document}\n`
}

/** An operation in a body: its lines are bytes `start` to `end`. */
type InBody = Omit<Operation, 'document'> & Readonly<{ start: number; end: number }>
type Batch = Readonly<{ operations: readonly InBody[]; body: Buffer }>

/** Of UTF-8 for a UTF-16 unit. */
const bytesPerUnitMax = 3

/**
 * Cuts operations into bodies, each written into a room that is given. Documents go into bytes as soon as they are made:
 * as texts, megabytes of them would be moved by the garbage collector until their request is answered.
 */
function createBatches(given: Iterable<Operation>) {
  const operations = given[Symbol.iterator]()
  let current = operations.next()
  /** If making the next operation throws, the batches have ended: a later call must not get the operation before it once more. */
  const advance = (): void => {
    current = { done: true, value: undefined }
    current = operations.next()
  }
  /** The next batch; undefined when there is none. When it is settled the room may be used again. */
  return (room: Buffer): Batch | undefined => {
    const written: InBody[] = []
    let body = room
    let end = 0
    for (; current.done !== true; advance()) {
      const { kind, index, key, workspaceId, position } = current.value
      const lines = linesOf(current.value)
      const bytesMax = lines.length * bytesPerUnitMax
      if (end + bytesMax > body.length) {
        if (written.length > 0) break
        body = Buffer.allocUnsafe(bytesMax)
      }
      const start = end
      end += body.write(lines, start)
      written.push({ kind, index, key, workspaceId, position, start, end })
    }
    return written.length === 0 ? undefined : { operations: written, body: body.subarray(0, end) }
  }
}

/** What became of an operation. `again`: it was not taken for now. `conflict`: a version at or above ours was there. `long`: its request was too long. */
type Outcome = 'done' | 'again' | 'conflict' | 'lost' | 'long'
/** `refusal`: why the first of those that were not taken was not. */
type Outcomes = Readonly<{ outcomes: readonly Outcome[]; refusal: string }>

const subjectOf = ({ index, key }: InBody): string => `${key} of ${index}`
const placeOf = (operation: InBody): string => `${subjectOf(operation)} at ${operation.position}`

const reasonIn = ({ kind }: InBody, item: JsonObject = {}): string => reasonOf(objectIn(item[kind]))

/** What lasts longer than a few tries, for which all other projections of the partition would wait. */
function refuseLasting(operations: readonly InBody[], items: readonly JsonObject[]): void {
  const without = operations.filter((operation, place) => isWithoutPrimary(reasonIn(operation, items[place])))
  if (without.length > 0) throw new NoPrimaryError(without.map(({ index }) => index))
  const refuse = (isMeant: (reason: string) => boolean, hint: string): void => {
    const operation = operations.find((each, place) => isMeant(reasonIn(each, items[place])))
    if (operation !== undefined) throw new TransientError({ operation: 'write to', subject: operation.index, hint })
  }
  refuse(isClosed, closedHint)
  refuse(lacksCopies, fewCopiesHint)
}

function outcomeOf(operation: InBody, item: JsonObject): Outcome {
  const result = objectIn(item[operation.kind])
  const status = numberIn(result['status'])
  if (status >= 200 && status < 300) return 'done'
  if (status === 409) return 'conflict'
  const reason = reasonOf(result)
  // 500: as of a disk without a free byte.
  if (status === 429 || status >= 500 || isBlocked(reason)) return 'again'
  const isLost = reason.startsWith('index_not_found_exception')
  if (status === 404) return operation.kind === 'delete' ? 'done' : isLost ? 'lost' : 'again'
  const cause = new Error(`Elasticsearch answered ${status} ${reason}`)
  const subject = placeOf(operation)
  if (status === 403) throw new TransientError({ operation: 'index', subject, hint: forbiddenHint, cause })
  throw new PermanentError({ operation: 'index', subject, hint: `if ${mappingHint}`, cause })
}

/** What stands before Elasticsearch has cut the request at the end of a line: it knows of no more. */
function notWhole(sent: number, answered: number): TransientError {
  const hint = `the answer is about ${answered} of them: look at what stands before it`
  return new TransientError({ operation: 'write to Elasticsearch', subject: `${sent} documents`, hint })
}

async function post(elasticsearch: Elasticsearch, { body: lines, operations }: Batch): Promise<Outcomes> {
  const { status, body } = await elasticsearch.send({
    operation: 'write',
    subject: `${operations.length} documents`,
    method: 'POST',
    path: '/_bulk',
    // No pipeline that somebody has set on an index since it was made.
    query: { pipeline: '_none', timeout: primaryWait, filter_path: 'errors,items.*.status,items.*.error' },
    lines,
    accept: [413, 429, 503],
    // Versions keep it from a second effect.
    mayRepeat: true,
  })
  if (status === 413) return { outcomes: operations.map(() => 'long'), refusal: '' }
  if (status !== 200) return { outcomes: operations.map(() => 'again'), refusal: reasonOf(body) }
  const items = objectsIn(body['items'])
  if (items.length !== operations.length) throw notWhole(operations.length, items.length)
  if (body['errors'] === false) return { outcomes: [], refusal: '' }
  refuseLasting(operations, items)
  const outcomes = operations.map((operation, place) => outcomeOf(operation, items[place] ?? {}))
  const first = outcomes.findIndex((outcome) => outcome === 'again' || outcome === 'lost')
  const open = operations[first]
  return { outcomes, refusal: open === undefined ? '' : reasonIn(open, items[first]) }
}

/** It names the index, and what keeps it from being written. */
function notTaken(count: number, refusal: string): TransientError {
  const hint = isBlocked(refusal) ? blockedHint : busyHint
  const cause = refusal === '' ? undefined : new Error(refusal)
  return new TransientError({ operation: 'write to Elasticsearch', subject: `${count} documents`, hint, cause })
}

/** Whoever updates a document in Elasticsearch raises its version beyond what is in it, and the next events would be taken for those it has. */
const changedHint = 'somebody else has changed the document, whose version is newer than what it holds'

/**
 * A conflict is a success when what is stored is as new as ours and of the same log: the batch came again, or another
 * projector was faster. What is not there was deleted by a later event. Returns what met an older document: that is of a copy which is behind
 * its primary, as while the same batch, sent before over a connection that was lost, is still being copied.
 */
async function checkConflicts(
  { elasticsearch, epoch }: BulkOptions,
  conflicts: readonly InBody[],
): Promise<readonly InBody[]> {
  const stored = await lookUp(elasticsearch, conflicts, [epochField, positionField])
  return conflicts.filter((operation, place) => {
    const document = stored[place]
    if (document === undefined) return false
    if (document.version < operation.position) return true
    const { [epochField]: log, [positionField]: position } = document.source
    if (log === epoch && numberIn(position) >= operation.position) return false
    const hint = `${log === epoch ? changedHint : "another log's document is in its place"}: rebuild the projection`
    throw new PermanentError({ operation: 'write', subject: placeOf(operation), hint })
  })
}

function copyBehind(operation: InBody): TransientError {
  const hint = 'a copy of its shard is behind the primary one, or stays so: look at the nodes'
  return new TransientError({ operation: 'write', subject: placeOf(operation), hint })
}

/** Some operations of a batch as one of their own. */
function onlyThese({ body }: Batch, operations: readonly InBody[]): Batch {
  let length = 0
  const moved = operations.map((operation) => {
    const [start, end] = [length, length + operation.end - operation.start]
    length = end
    return { ...operation, start, end }
  })
  return { operations: moved, body: Buffer.concat(operations.map(({ start, end }) => body.subarray(start, end))) }
}

/** Writes the halves of what is too long for a request: a proxy may allow a megabyte, Elasticsearch may be set to take less than it does by itself. */
async function settleHalves(options: BulkOptions, batch: Batch): Promise<void> {
  const { operations } = batch
  const [first] = operations
  if (operations.length === 1 && first !== undefined)
    throw new TransientError({ operation: 'write', subject: subjectOf(first), hint: tooLongHint })
  const middle = Math.ceil(operations.length / 2)
  await settle(options, onlyThese(batch, operations.slice(0, middle)))
  await settle(options, onlyThese(batch, operations.slice(middle)))
}

/** Writes one batch until all of it is in, or for as long as is worth it. */
async function settle(options: BulkOptions, batch: Batch): Promise<void> {
  const { elasticsearch, restore, pause = sleep } = options
  let open = batch
  for (let tries = 1; ; tries++) {
    const { outcomes, refusal } = await post(elasticsearch, open)
    const having = (wanted: Outcome): readonly InBody[] =>
      open.operations.filter((_, place) => outcomes[place] === wanted)
    if (having('long').length > 0) return settleHalves(options, open)
    const behind = await checkConflicts(options, having('conflict'))
    const lost = having('lost')
    for (const index of new Set(lost.map(({ index }) => index))) await restore(index)
    const left = [...behind, ...having('again'), ...lost]
    const [first] = left
    if (first === undefined) return
    if (tries === triesMax) throw left.length === behind.length ? copyBehind(first) : notTaken(left.length, refusal)
    await pause(firstPauseMs * 2 ** (tries - 1))
    open = onlyThese(open, left)
  }
}

const bufferedMax = 1_000

/** Buffers operations, and writes so many at a time; `flush` writes the rest. */
export function createWriteBuffer(write: (operations: readonly Operation[]) => Promise<void>) {
  let operations: Operation[] = []
  const flush = async (): Promise<void> => {
    if (operations.length > 0) await write(operations)
    operations = []
  }
  return {
    add: async (operation: Operation): Promise<void> => {
      operations.push(operation)
      if (operations.length >= bufferedMax) await flush()
    },
    flush,
  }
}

/** Rooms for bodies that nobody uses just now: made once, because each would count toward the next full garbage collection. */
const rooms: Buffer[] = []
const roomsMax = 8

/** Writes all, some requests at once; in no order, which the versions make good. Resolves when all of it is durable. */
export async function writeAll(options: BulkOptions, operations: Iterable<Operation>): Promise<void> {
  const nextBatch = createBatches(operations)
  let failed = false
  const work = async (): Promise<void> => {
    const room = rooms.pop() ?? Buffer.allocUnsafeSlow(bodyBytesMax)
    try {
      for (let batch = nextBatch(room); batch !== undefined; batch = nextBatch(room)) {
        await settle(options, batch)
        if (failed) break
      }
    } catch (error) {
      failed = true
      throw error
    }
    // After a failure its request may still be on the way: then nobody gets it again.
    if (rooms.length < roomsMax) rooms.push(room)
  }
  // Nothing of it may still be under way when the caller hears of a failure and tries again.
  const ended = await Promise.allSettled(Array.from({ length: requestsAtOnce }, work))
  const failures = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
  const [first] = failures
  const without = failures.filter((failure) => failure instanceof NoPrimaryError)
  if (first instanceof NoPrimaryError) throw new NoPrimaryError(without.flatMap(({ indices }) => [...indices]))
  if (failures.length > 0) throw first
}
