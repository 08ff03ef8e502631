import { writeBodies, type Bodies, type MadeBody } from './bodies.ts'
import { createDice, spanIdOf, traceIdOf, type Dice } from './dice.ts'
import { logPhrases, logShapes, logWords, type LogShape } from './log-shapes.ts'
import { denseMs } from './span-corpus.ts'

type LogCorpusOptions = Readonly<{
  /** Of the span corpus too whose traces the records name. */
  seed: number
  records: number
  /** 1: each request is one JSON object; more: an array. */
  recordsPerRequest: number
  startMs: number
  /** As in the span corpus: over how long, and how many traces there are to name. */
  durationMs?: number
  traces?: number
}>

/** What a reader of the corpus must find. */
export type LogFacts = Readonly<{
  records: number
  byLevel: Readonly<Record<string, number>>
  words: readonly Readonly<{ q: string; matches: number }>[]
  phrases: readonly Readonly<{ q: string; matches: number }>[]
}>

const spansPerTrace = 24
const tracedPart = 0.6

/** How many traces so many records name, where nothing else is said. */
export const tracesNamedBy = (records: number): number => Math.ceil(records / spansPerTrace)

function pickShape(dice: Dice, total: number): LogShape {
  let rest = (dice.below(1_000_000) / 1_000_000) * total
  for (const shape of logShapes) {
    rest -= shape.weight
    if (rest < 0) return shape
  }
  return logShapes[0] as LogShape
}

/** `ms`: its time; `near`: the number of a trace of about that time. */
function recordOf(dice: Dice, shape: LogShape, seed: number, { ms, near }: Readonly<{ ms: number; near: number }>) {
  const { level, service, logger, text, fields } = shape
  const trace = Math.max(0, near - dice.below(20))
  const traced = dice.chance(tracedPart)
  return {
    timestamp: new Date(ms).toISOString(),
    level,
    service,
    message: text.replaceAll('{}', () => String(dice.below(1_000_000))),
    ...(traced
      ? {
          trace_id: traceIdOf(seed, trace).toString('hex'),
          span_id: spanIdOf(seed, dice.below(1_000_000)).toString('hex'),
        }
      : {}),
    logger,
    host: `ip-10-4-0-${dice.between(10, 60)}`,
    thread: `worker-${dice.below(64)}`,
    ...fields(dice),
  }
}

/** Structured logs of the same shop as JSON requests: the same options, the same bytes. */
export function makeLogCorpus(file: string, options: LogCorpusOptions): Readonly<{ bodies: Bodies; facts: LogFacts }> {
  const { seed, records, recordsPerRequest, startMs } = options
  const { durationMs = denseMs(records), traces = tracesNamedBy(records) } = options
  const dice = createDice(seed + 1)
  const total = logShapes.reduce((sum, { weight }) => sum + weight, 0)
  const used = new Map<LogShape, number>()
  const make = (index: number): object => {
    const shape = pickShape(dice, total)
    used.set(shape, (used.get(shape) ?? 0) + 1)
    const part = index / records
    return recordOf(dice, shape, seed, {
      ms: startMs + Math.floor(part * durationMs),
      near: Math.floor(part * traces),
    })
  }
  function* made(): Generator<MadeBody> {
    for (let from = 0; from < records; from += recordsPerRequest) {
      const count = Math.min(recordsPerRequest, records - from)
      const items = Array.from({ length: count }, (_, index) => make(from + index))
      const body = Buffer.from(JSON.stringify(recordsPerRequest === 1 ? items[0] : items))
      yield { body, records: count, rawBytes: body.length }
    }
  }
  const bodies = writeBodies(file, { 'content-type': 'application/json' }, made())
  const count = (matches: (shape: LogShape) => boolean): number =>
    logShapes.reduce((sum, shape) => sum + (matches(shape) ? (used.get(shape) ?? 0) : 0), 0)
  const levels = [...new Set(logShapes.map(({ level }) => level))]
  return {
    bodies,
    facts: {
      records: bodies.records,
      byLevel: Object.fromEntries(levels.map((level) => [level, count((shape) => shape.level === level)])),
      words: logWords.map((q) => ({ q, matches: count(({ text }) => text.includes(q)) })),
      phrases: logPhrases.map(({ q, text: part }) => ({ q, matches: count(({ text }) => text.includes(part)) })),
    },
  }
}
