import { join } from 'node:path'
import { bodyCount, openBodies, writeBodies, type Bodies, type MadeBody } from './bodies.ts'
import { traceIdOf } from './dice.ts'
import { makeLogCorpus, tracesNamedBy, type LogFacts } from './log-corpus.ts'
import { recordsPerRequest, warmUpRecordsPerRequest, warmUpSeed, type BenchContext } from './scale.ts'
import { durationMs, tracesAsked } from './search.ts'
import { makeSpanCorpus, type SpanFacts } from './span-corpus.ts'

/** The same bytes for ours and the peer, what a search must find in them, and others to warm up with, which are older. */
export type PeerRecords<Facts> = Readonly<{ bodies: Bodies; warmUp: Bodies; facts: Facts; startMs: number }>

/** What the corpus does not count itself. `above`: lines with a number above `rowsAbove`. */
export type LineFacts = LogFacts & Readonly<{ above: number; byTrace: ReadonlyMap<string, number> }>

export const rowsAbove = 490
/** By how much what warms up is older than all that is asked for. */
const warmUpAgeMs = 3_600_000

const searchedFrom = ({ startMs }: BenchContext): number => startMs - durationMs

type Line = Readonly<{ rows?: number; trace_id?: string }>

/** The same records, a line each: what both take. */
function asLines(file: string, bodies: Bodies, onRecord: (record: Line) => void): Bodies {
  const reader = openBodies(bodies)
  function* made(): Generator<MadeBody> {
    for (let index = 0; index < bodyCount(bodies); index++) {
      const records = JSON.parse(reader.read(index).toString()) as readonly Line[]
      records.forEach(onRecord)
      const body = Buffer.from(records.map((record) => JSON.stringify(record)).join('\n'))
      yield { body, records: records.length, rawBytes: body.length }
    }
  }
  const lines = writeBodies(file, { 'content-type': 'application/stream+json' }, made())
  reader.close()
  return lines
}

export function makePeerLogs(context: BenchContext): PeerRecords<LineFacts> {
  const { scale, folder } = context
  const startMs = searchedFrom(context)
  const all = { seed: scale.seed, startMs, durationMs, records: scale.logs, recordsPerRequest }
  const { bodies, facts } = makeLogCorpus(join(folder, 'logs'), all)
  const traces = tracesNamedBy(scale.logs)
  const asked = Array.from({ length: tracesAsked }, (_, index) => Math.floor((index * traces) / tracesAsked))
  const byTrace = new Map(asked.map((number) => [traceIdOf(scale.seed, number).toString('hex'), 0]))
  let above = 0
  const lines = asLines(join(folder, 'lines'), bodies, ({ rows = 0, trace_id: trace = '' }) => {
    if (rows > rowsAbove) above++
    const found = byTrace.get(trace)
    if (found !== undefined) byTrace.set(trace, found + 1)
  })
  const warmUp = makeLogCorpus(join(folder, 'warm-logs'), {
    seed: warmUpSeed(scale),
    startMs: startMs - warmUpAgeMs,
    records: scale.warmUp,
    recordsPerRequest: warmUpRecordsPerRequest,
  })
  const warmUpLines = asLines(join(folder, 'warm-lines'), warmUp.bodies, () => {})
  return { bodies: lines, warmUp: warmUpLines, facts: { ...facts, above, byTrace }, startMs }
}

export function makePeerSpans(context: BenchContext): PeerRecords<SpanFacts> {
  const { scale, folder } = context
  const startMs = searchedFrom(context)
  const all = { seed: scale.seed, startMs, durationMs, spans: scale.spans, spansPerRequest: recordsPerRequest }
  const warmUp = makeSpanCorpus(join(folder, 'warm-spans'), {
    seed: warmUpSeed(scale),
    startMs: startMs - warmUpAgeMs,
    spans: scale.warmUp,
    spansPerRequest: warmUpRecordsPerRequest,
  })
  return { ...makeSpanCorpus(join(folder, 'spans'), all), warmUp: warmUp.bodies, startMs }
}
