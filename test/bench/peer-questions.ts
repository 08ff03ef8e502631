import { isJsonObject, parseJson, type Json, type JsonObject } from '#src/lib/json.ts'
import { present } from '#src/lib/assert.ts'
import { rowsAbove, type LineFacts } from './peer-records.ts'
import { at, logsPerPage, parameters, totalOf, tracesAsked, tracesPerPage } from './search.ts'
import { slowMs, type SpanFacts } from './span-corpus.ts'
import { services } from './span-shapes.ts'

/** Who is asked. */
export type Side = 'ours' | 'theirs'

/** What an answer holds. `keys` tell what was found, where both must find the same. */
type Found = Readonly<{ count: number; keys?: readonly string[] }>

/** A search, as each is asked, and how much it must find. */
type Question = Readonly<{ what: string; count: number } & Record<Side, string>>
export type Figure = Readonly<{
  figure: string
  questions: readonly Question[]
  read: Readonly<Record<Side, (answer: string) => Found>>
}>

const objectOf = (answer: string): JsonObject => {
  const body = parseJson(answer)
  if (!isJsonObject(body)) throw new Error(`no object: ${answer.slice(0, 200)}`)
  return body
}
const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : []
const foundOf = (keys: readonly string[]): Found => ({ count: keys.length, keys })

/** Lines are told by their times, which are all different but for a few; the newest come first. */
const timeOf = (time: Json | undefined): string => new Date(String(time)).toISOString()
const readLines: Figure['read'] = {
  ours: (answer) => foundOf(listOf(objectOf(answer)['logs']).map(({ timestamp }) => timeOf(timestamp))),
  theirs: (answer) => {
    const lines = answer.split('\n').filter((line) => line !== '')
    return foundOf(lines.map((line) => timeOf(objectOf(line)['_time'])))
  },
}
const readHits: Figure['read'] = {
  ours: (answer) => ({ count: totalOf(objectOf(answer)['histogram']) }),
  theirs: (answer) => {
    const values = listOf(objectOf(answer)['hits']).flatMap((hits) => (hits['values'] ?? []) as readonly number[])
    return { count: values.reduce((sum, value) => sum + value, 0) }
  },
}

type Asked = Readonly<{ q: string; matches: number }>

/** The same words of both languages. */
export function logFigures(facts: LineFacts, fromMs: number): readonly Figure[] {
  const start = new Date(fromMs).toISOString()
  const ours = (given: Readonly<Record<string, string | number>>): string =>
    `/api/app/logs/search?${parameters({ from: start, ...given })}`
  const newest = ({ q, matches }: Asked): Question => ({
    what: q,
    count: Math.min(logsPerPage, matches),
    ours: ours({ q, limit: logsPerPage }),
    theirs: `/select/logsql/query?${parameters({ query: q, limit: logsPerPage, start })}`,
  })
  const ofTrace = ([id, matches]: readonly [string, number]): Question => ({
    ...newest({ q: `trace_id:="${id}"`, matches }),
    ours: ours({ trace_id: id, limit: logsPerPage }),
  })
  const histogram = ({ q, matches }: Asked): Question => ({
    what: `histogram of ${q}`,
    count: matches,
    ours: ours({ ...(q === '*' ? {} : { q }), include: 'histogram', limit: 1 }),
    // As wide as ours are over this time.
    theirs: `/select/logsql/hits?${parameters({ query: q, step: '15m', start })}`,
  })
  const lines = (figure: string, questions: readonly Question[]): Figure => ({ figure, questions, read: readLines })
  const hits = (figure: string, questions: readonly Question[]): Figure => ({ figure, questions, read: readHits })
  const inner = facts.words.map(({ q, matches }) => ({ q: `*${q.slice(1, -1)}*`, matches }))
  return [
    lines('a word, newest 100', facts.words.map(newest)),
    lines('a phrase and a field, newest 100', facts.phrases.map(newest)),
    lines('part of a word, newest 100', inner.map(newest)),
    lines('a number above another, newest 100', [newest({ q: `rows:>${rowsAbove}`, matches: facts.above })]),
    lines('of a trace', [...facts.byTrace].map(ofTrace)),
    hits('histogram of all', [histogram({ q: '*', matches: facts.records })]),
    hits('histogram of a word', facts.words.map(histogram)),
  ]
}

/** OTLP as JSON, all traces in one: by trace, its spans' ids. */
function spansByTrace(answer: string): ReadonlyMap<string, readonly string[]> {
  const spans = listOf(at(objectOf(answer), 'result', 'resourceSpans'))
    .flatMap(({ scopeSpans }) => listOf(scopeSpans))
    .flatMap(({ spans }) => listOf(spans))
  const byTrace = Map.groupBy(spans, ({ traceId }) => String(traceId))
  return new Map([...byTrace].map(([trace, ofTrace]) => [trace, ofTrace.map(({ spanId }) => String(spanId))]))
}

const ourTraces = (answer: string): readonly string[] =>
  listOf(objectOf(answer)['traces']).map(({ trace_id: id }) => String(id))

const readTrace: Figure['read'] = {
  ours: (answer) => {
    const ids = listOf(at(objectOf(answer), 'trace', 'spans')).map(({ span_id: id }) => String(id))
    return foundOf(ids.sort())
  },
  theirs: (answer) => foundOf([...spansByTrace(answer).values()].flat().sort()),
}
const readTraces: Figure['read'] = {
  ours: (answer) => foundOf([...ourTraces(answer)].sort()),
  theirs: (answer) => foundOf([...spansByTrace(answer).keys()].sort()),
}
const countTraces: Figure['read'] = {
  ours: (answer) => ({ count: ourTraces(answer).length }),
  theirs: (answer) => ({ count: listOf(objectOf(answer)['data']).length }),
}

/** Where every trace begins: of no other service's operations do both find the same traces, in the same order. */
const firstService = present(services[0], 'there are services').name

/** Jaeger is asked by version 3 of its API, and for errors, which that does not know, as its pages ask. */
export function traceFigures(facts: SpanFacts, fromMs: number): readonly Figure[] {
  const [from, to] = [new Date(fromMs).toISOString(), new Date().toISOString()]
  const range = { 'query.start_time_min': from, 'query.start_time_max': to }
  const ours = (given: Readonly<Record<string, string | number>>): string =>
    `/api/app/traces/search?${parameters({ ...given, from, limit: tracesPerPage })}`
  const whole = facts.samples.slice(0, tracesAsked).map(({ traceId, spans }): Question => ({
    what: traceId,
    count: spans,
    ours: `/api/app/correlation?${parameters({ trace_id: traceId })}`,
    theirs: `/api/v3/traces/${traceId}`,
  }))
  const slowOfFirst = facts.slow.filter(({ service }) => service === firstService)
  const slow = slowOfFirst.map(({ service, operation, traces }): Question => ({
    what: `${service} ${operation}`,
    count: Math.min(tracesPerPage, traces),
    ours: ours({ service, operation, min_duration: `${slowMs}ms` }),
    theirs: `/api/v3/traces?${parameters({
      ...range,
      'query.service_name': service,
      'query.operation_name': operation,
      'query.duration_min': `${slowMs}ms`,
      'query.num_traces': tracesPerPage,
    })}`,
  }))
  const failed = facts.failed.map(({ service, traces }): Question => ({
    what: `errors of ${service}`,
    count: Math.min(tracesPerPage, traces),
    ours: ours({ service, status: 'error' }),
    theirs: `/api/traces?${parameters({
      ...{ service, tags: '{"error":"true"}', limit: tracesPerPage },
      ...{ start: fromMs * 1_000, end: Date.parse(to) * 1_000 },
    })}`,
  }))
  return [
    { figure: 'a trace by its id, whole', questions: whole, read: readTrace },
    { figure: 'traces by service, operation, duration, newest 20', questions: slow, read: readTraces },
    { figure: 'traces of a service with errors, newest 20', questions: failed, read: countTraces },
  ]
}
