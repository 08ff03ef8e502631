import { setTimeout as sleep } from 'node:timers/promises'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { Position } from '#src/events/envelope.ts'
import { numberIn, objectIn, objectsIn } from './answer-parts.ts'
import { reasonOf, type Elasticsearch } from './client.ts'
import { lookUp, type DocumentPlace } from './look-up.ts'
import { epochField } from './mapping.ts'

/** A document to be written or deleted. Its version is the position of the last event folded into it. */
export type Operation = DocumentPlace &
  Readonly<{
    kind: 'index' | 'delete'
    position: Position
    /** JSON text; '' for a deletion. */
    document: string
  }>

type BulkOptions = Readonly<{
  elasticsearch: Elasticsearch
  epoch: string
  /** Creates an index again that was dropped meanwhile. */
  restore(index: string): Promise<void>
  pause?: (ms: number) => Promise<unknown>
}>

/** The most bytes of a request's body, unless a single document is larger; and how many requests run at once. */
const bodyBytesMax = 4 * 1024 * 1024
const requestsAtOnce = 2
/** Attempts for what was rejected for lack of capacity; the first pause between them, which doubles each time. */
const triesMax = 6
const firstPauseMs = 100

function linesOf({ kind, index, key, workspaceId, position, document }: Operation): string {
  const place = `"_index":"${index}","_id":${JSON.stringify(key)},"routing":"${workspaceId}"`
  const action = `{"${kind}":{${place},"version":${position},"version_type":"external"}}\n`
  return kind === 'delete' ? action : `${action}${document}\n`
}

/** An operation whose lines are bytes `start` to `end` of the body. */
type Written = Omit<Operation, 'document'> & Readonly<{ start: number; end: number }>
type Batch = Readonly<{ operations: readonly Written[]; body: Buffer }>

/** UTF-8 bytes for a UTF-16 unit. */
const bytesPerUnitMax = 3

/**
 * Splits operations into request bodies, each written into a given buffer. Documents become bytes as soon as they are made: as strings, the garbage
 * collector would move megabytes of them until their request is answered.
 */
function createBatches(given: Iterable<Operation>) {
  const operations = given[Symbol.iterator]()
  let current = operations.next()
  /** The next batch; undefined if there is none. Once it is settled, the buffer may be reused. */
  return (room: Buffer): Batch | undefined => {
    const written: Written[] = []
    let body = room
    let end = 0
    for (; current.done !== true; current = operations.next()) {
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

/** The result of an operation. `again`: rejected for lack of capacity. `conflict`: a version at or above ours is stored. `lost`: its index is gone. */
type Outcome = 'done' | 'again' | 'conflict' | 'lost'

const subjectOf = ({ index, key }: Written): string => `${key} of ${index}`

function outcomeOf(operation: Written, item: JsonObject): Outcome {
  const result = objectIn(item[operation.kind])
  const status = numberIn(result['status'])
  if (status >= 200 && status < 300) return 'done'
  if (status === 409) return 'conflict'
  if (status === 429 || status === 503) return 'again'
  const reason = reasonOf(result)
  const isLost = reason.startsWith('index_not_found_exception')
  if (status === 404) return operation.kind === 'delete' ? 'done' : isLost ? 'lost' : 'again'
  const cause = new Error(`Elasticsearch answered ${status} ${reason}`)
  const subject = `${subjectOf(operation)} at ${operation.position}`
  const hint = 'if its mapping is not as it was made: rebuild the projection, which makes new indices'
  throw new PermanentError({ operation: 'index', subject, hint, cause })
}

async function post(elasticsearch: Elasticsearch, { body: lines, operations }: Batch): Promise<readonly Outcome[]> {
  const { status, body } = await elasticsearch.send({
    operation: 'write',
    subject: `${operations.length} documents`,
    method: 'POST',
    path: '/_bulk',
    query: { filter_path: 'errors,items.*.status,items.*.error' },
    lines,
    accept: [429, 503],
  })
  if (status !== 200) return operations.map(() => 'again')
  if (body['errors'] === false) return []
  const items = objectsIn(body['items'])
  return operations.map((operation, place) => outcomeOf(operation, items[place] ?? {}))
}

/**
 * A conflict is a success if the stored document is as new as ours and of the same log: the batch was repeated, or another projector was faster. A
 * missing document was deleted by a later event.
 */
async function checkConflicts({ elasticsearch, epoch }: BulkOptions, conflicts: readonly Written[]): Promise<void> {
  const stored = await lookUp(elasticsearch, conflicts, [epochField])
  for (const [place, operation] of conflicts.entries()) {
    const document = stored[place]
    if (document === undefined) continue
    if (document.source[epochField] === epoch && document.version >= operation.position) continue
    const subject = `${subjectOf(operation)} at ${operation.position}`
    const hint = "another log's document is in its place: rebuild the projection"
    throw new PermanentError({ operation: 'write', subject, hint })
  }
}

/** A batch of only these operations of another. */
function onlyThese({ body }: Batch, operations: readonly Written[]): Batch {
  let length = 0
  const moved = operations.map((operation) => {
    const [start, end] = [length, length + operation.end - operation.start]
    length = end
    return { ...operation, start, end }
  })
  return { operations: moved, body: Buffer.concat(operations.map(({ start, end }) => body.subarray(start, end))) }
}

/** Writes one batch, and repeats what was rejected, until all is written or the attempts are used up. */
async function settle(options: BulkOptions, batch: Batch): Promise<void> {
  const { elasticsearch, restore, pause = sleep } = options
  let open = batch
  for (let tries = 1; ; tries++) {
    const outcomes = await post(elasticsearch, open)
    const having = (wanted: Outcome): readonly Written[] =>
      open.operations.filter((_, place) => outcomes[place] === wanted)
    await checkConflicts(options, having('conflict'))
    const lost = having('lost')
    for (const index of new Set(lost.map(({ index }) => index))) await restore(index)
    const left = [...having('again'), ...lost]
    if (left.length === 0) return
    if (tries === triesMax) {
      const hint = 'it has no room for more now: look at its load and its disks'
      throw new TransientError({ operation: 'write to Elasticsearch', subject: `${left.length} documents`, hint })
    }
    await pause(firstPauseMs * 2 ** (tries - 1))
    open = onlyThese(open, left)
  }
}

/** Free buffers for bodies. They are reused, because each new one would count toward the next full garbage collection. */
const rooms: Buffer[] = []
const roomsMax = 8

/** Writes all operations, several requests at once. Order does not matter, thanks to versions. Resolves when all is durable. */
export async function writeAll(options: BulkOptions, operations: Iterable<Operation>): Promise<void> {
  const nextBatch = createBatches(operations)
  let failed = false
  const work = async (): Promise<void> => {
    const room = rooms.pop() ?? Buffer.allocUnsafeSlow(bodyBytesMax)
    for (let batch = nextBatch(room); batch !== undefined; batch = nextBatch(room)) {
      await settle(options, batch)
      if (failed) break
    }
    // The buffer of a failed request is not reused, because it may still be in use.
    if (rooms.length < roomsMax) rooms.push(room)
  }
  // All requests have ended before a failure is reported, so that a retry does not overlap with them.
  const ended = await Promise.allSettled(
    Array.from({ length: requestsAtOnce }, () =>
      work().catch((error: unknown) => {
        failed = true
        throw error
      }),
    ),
  )
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}
