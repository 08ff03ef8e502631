import { readdirSync, readFileSync } from 'node:fs'
import { formatTimeNs } from '#src/lib/time.ts'
import type { FirstRun } from '../support/server.ts'
import { createRandom, type Random } from '../support/random.ts'
import { encodeProtobuf, makeTraces } from '../support/otlp.ts'
import { logBody, type Body } from './log-bodies.ts'
import { baseNs, rareWords } from './pools.ts'
import { rumBody } from './rum-bodies.ts'
import { spanBody } from './span-bodies.ts'

/** A request as a sender makes it. */
export type Sent = Body & Readonly<{ path: string; key: keyof FirstRun['keys'] }>

const paths = {
  logs: ['/api/logs/v1/ingest', 'logs'],
  spans: ['/api/traces/v1/otlp', 'tracing'],
  rum: ['/api/rum/v1/ingest', 'publishable'],
} as const

const golden = new URL('../golden/', import.meta.url)

/** With a key of its own: without one a log request gets a random id, which no two servers share. */
function sent(kind: keyof typeof paths, { headers, bytes }: Body, identity: string): Sent {
  const [path, key] = paths[kind]
  return { path, key, bytes, headers: { ...headers, 'idempotency-key': identity } }
}

/** What real senders have sent. */
function recorded(): readonly Sent[] {
  const logs = readdirSync(new URL('logs/', golden)).sort()
  const rum = readdirSync(new URL('rum/', golden)).sort()
  return [
    ...logs.map((file) => {
      const { contentType, body } = JSON.parse(readFileSync(new URL(`logs/${file}`, golden), 'utf8')) as {
        contentType: string | null
        body: string
      }
      return sent(
        'logs',
        { headers: contentType === null ? {} : { 'content-type': contentType }, bytes: Buffer.from(body) },
        file,
      )
    }),
    ...rum.map((file) => {
      const bytes = readFileSync(new URL(`rum/${file}`, golden))
      return sent('rum', { headers: { 'content-type': 'application/json' }, bytes }, file)
    }),
  ]
}

const bodies: Readonly<Record<keyof typeof paths, (random: Random, number: number) => Body>> = {
  logs: logBody,
  spans: spanBody,
  rum: rumBody,
}

/** What is rare, and too much for one page, one pattern or one document. */
function wide(): readonly Sent[] {
  const { spans, request } = makeTraces({ seed: 1, traces: 1, spansPerTrace: 1_200, startNs: baseNs })
  const [first] = spans
  const records = [0, 600].map((from) => ({ message: `many ${rareWords(from, 600)}`, timestamp: formatTimeNs(baseNs) }))
  const named = {
    message: 'many',
    rare: rareWords(1_200, 900),
    timestamp: formatTimeNs(baseNs),
    trace_id: first?.traceId,
  }
  const json = { 'content-type': 'application/json' }
  return [
    sent('spans', { headers: { 'content-type': 'application/x-protobuf' }, bytes: encodeProtobuf(request) }, 'many'),
    sent('logs', { headers: json, bytes: Buffer.from(JSON.stringify([...records, named])) }, 'many'),
  ]
}

/** Requests of every kind and form in one order, some of them twice. */
export function makeTelemetry(seed: number): readonly Sent[] {
  const random = createRandom(seed)
  const trees = makeTraces({ seed, traces: 20, spansPerTrace: 6, startNs: baseNs })
  const requests = [
    ...recorded(),
    ...wide(),
    sent('spans', { headers: { 'content-type': 'application/x-protobuf' }, bytes: trees.protobuf }, 'trees'),
  ]
  for (const [kind, count] of [
    ['logs', 40],
    ['spans', 16],
    ['rum', 12],
  ] as const) {
    for (let number = 0; number < count; number++)
      requests.push(sent(kind, bodies[kind](random, number), `${kind}-${number}`))
  }
  const shuffled = requests.map((request) => [random.below(1 << 30), request] as const).sort(([a], [b]) => a - b)
  return shuffled.flatMap(([, request]) => (random.chance(0.1) ? [request, request] : [request]))
}
