import { gzipSync } from 'node:zlib'
import { writeBodies, type Bodies, type MadeBody } from './bodies.ts'
import { createDice, spanIdOf, traceIdOf, type Dice } from './dice.ts'
import { createProtobufWriter, type ProtobufWriter } from './protobuf-writer.ts'
import {
  describe,
  exceptionOf,
  podsPerService,
  resourceOf,
  services,
  type Attribute,
  type Described,
  type Service,
  type Shape,
} from './span-shapes.ts'

type SpanCorpusOptions = Readonly<{
  seed: number
  spans: number
  spansPerRequest: number
  /** Start of the first trace, milliseconds since the Unix epoch. */
  startMs: number
  /** Over how long the traces begin; without it as close together as `recordsPerSecond` says. */
  durationMs?: number
}>

/** What a reader of the corpus must find. */
export type SpanFacts = Readonly<{
  spans: number
  traces: number
  /** Some traces, evenly spread, with how many spans each has. */
  samples: readonly Readonly<{ traceId: string; spans: number }>[]
  /** Traces by service and operation, with a span of theirs of `slowMs` at least. */
  slow: readonly Readonly<{ service: string; operation: string; traces: number }>[]
  /** Traces by service, with a failed span of its. */
  failed: readonly Readonly<{ service: string; traces: number }>[]
}>

/** A busy shop: several traces run at once, so that requests cut through traces as a Collector's do. */
const recordsPerSecond = 600
export const denseMs = (records: number): number => (records * 1_000) / recordsPerSecond
export const slowMs = 20

const spansPerTrace = { min: 5, max: 60 }
const blockSpans = 5_000
const failedPart = 0.015
const samplesMax = 500
/** Visitors at a time. */
const sessions = 200_000

/** A span before it is written: its place in the tree, times in microseconds since its trace's start. */
type Sketch = {
  readonly parent: number
  readonly service: Service
  readonly pod: number
  readonly shape: Shape
  readonly startUs: number
  readonly durationUs: number
  /** A call has one callee. */
  answered: boolean
}
type WrittenSpan = Readonly<{ service: Service; pod: number; scope: string; endUs: number; bytes: Buffer }>

const leaves: readonly Shape[] = ['client', 'database', 'producer']

function childShape(dice: Dice): Shape {
  const roll = dice.below(100)
  if (roll < 38) return 'client'
  if (roll < 70) return 'database'
  return roll < 88 ? 'internal' : 'producer'
}

/** Where the next span belongs: into a call that nobody answers yet, else under a span that can have children. */
function growFrom(dice: Dice, tree: readonly Sketch[]): Readonly<{ parent: number; shape: Shape }> {
  let parent = Math.max(0, tree.length - 1 - dice.below(8))
  for (;;) {
    const { shape, answered, parent: above } = tree[parent] as Sketch
    if (!leaves.includes(shape)) return { parent, shape: childShape(dice) }
    if (!answered && shape === 'client') return { parent, shape: 'server' }
    if (!answered && shape === 'producer') return { parent, shape: 'consumer' }
    parent = above
  }
}

function growTree(dice: Dice, size: number): readonly Sketch[] {
  const pod = (): number => dice.below(podsPerService)
  const gateway = services[0] as Service
  const rootUs = dice.between(20_000, 300_000) * (dice.chance(0.05) ? 10 : 1)
  const tree: Sketch[] = [
    { parent: -1, service: gateway, pod: pod(), shape: 'server', startUs: 0, durationUs: rootUs, answered: false },
  ]
  while (tree.length < size) {
    const { parent: place, shape } = growFrom(dice, tree)
    const parent = tree[place] as Sketch
    const calls = shape === 'server' || shape === 'consumer'
    parent.answered = true
    const durationUs = Math.max(20, Math.floor((parent.durationUs * dice.between(5, 90)) / 100))
    tree.push({
      parent: place,
      service: calls ? dice.pick(services.slice(1)) : parent.service,
      pod: calls ? pod() : parent.pod,
      shape,
      startUs: parent.startUs + dice.below(Math.max(1, parent.durationUs - durationUs)),
      durationUs,
      answered: false,
    })
  }
  return tree
}

function writeAttributes(writer: ProtobufWriter, field: number, attributes: readonly Attribute[]): void {
  for (const [name, value] of attributes) {
    writer.message(field, () => {
      writer.text(1, name)
      writer.message(2, () => {
        if (typeof value === 'string') writer.text(1, value)
        else if (typeof value === 'boolean') writer.varint(2, value ? 1 : 0)
        else if (Number.isInteger(value)) writer.varint(3, value)
        else writer.double(4, value)
      })
    })
  }
}

/** A trace's spans as opentelemetry-proto `Span` messages. */
function writeTrace(
  writer: ProtobufWriter,
  dice: Dice,
  trace: Readonly<{ traceId: Buffer; startUs: number; spanIds: readonly Buffer[]; tree: readonly Sketch[] }>,
  onSpan: (sketch: Sketch, described: Described, failed: boolean) => void,
): readonly WrittenSpan[] {
  const session = `s-${trace.traceId.readUInt32BE() % sessions}`
  return trace.tree.map((sketch, index) => {
    const { service, pod, shape, parent } = sketch
    const failed = dice.chance(failedPart)
    const described = describe[shape](dice, service, { failed, session })
    onSpan(sketch, described, failed)
    const startUs = trace.startUs + sketch.startUs
    const endUs = startUs + sketch.durationUs
    writer.bytes(1, trace.traceId)
    writer.bytes(2, trace.spanIds[index] as Buffer)
    if (parent >= 0) writer.bytes(4, trace.spanIds[parent] as Buffer)
    writer.text(5, described.name)
    writer.varint(6, described.kind)
    writer.fixed64(7, BigInt(startUs) * 1_000n + BigInt(index))
    writer.fixed64(8, BigInt(endUs) * 1_000n + BigInt(index))
    writeAttributes(writer, 9, described.attributes)
    if (failed) {
      writer.message(11, () => {
        writer.fixed64(1, BigInt(endUs) * 1_000n)
        writer.text(2, 'exception')
        writeAttributes(writer, 3, exceptionOf(dice, service))
      })
      writer.message(15, () => {
        writer.text(2, 'upstream did not answer')
        writer.varint(3, 2)
      })
    }
    writer.fixed32(16, parent >= 0 ? 0x301 : 0x101)
    return { service, pod, scope: described.scope, endUs, bytes: writer.take() }
  })
}

/** An ExportTraceServiceRequest: spans under their resource and scope, as a batching Collector sends them. */
function writeRequest(writer: ProtobufWriter, spans: readonly WrittenSpan[]): Buffer {
  const byPod = Map.groupBy(spans, ({ service, pod }) => `${service.name}/${pod}`)
  for (const ofPod of byPod.values()) {
    const { service, pod } = ofPod[0] as WrittenSpan
    writer.message(1, () => {
      writer.message(1, () => writeAttributes(writer, 1, resourceOf(service, pod)))
      for (const [scope, ofScope] of Map.groupBy(ofPod, (span) => span.scope)) {
        writer.message(2, () => {
          writer.message(1, () => {
            writer.text(1, scope)
            writer.text(2, '0.60.0')
          })
          for (const { bytes } of ofScope) writer.bytes(2, bytes)
        })
      }
    })
  }
  return writer.take()
}

type Notes = Readonly<{
  samples: SpanFacts['samples'][number][]
  /** Numbers of traces by service and operation, and by service. */
  slow: Map<string, Set<number>>
  failed: Map<string, Set<number>>
}>

const noteTrace = (notes: Map<string, Set<number>>, key: string, trace: number): void =>
  void notes.set(key, (notes.get(key) ?? new Set()).add(trace))

/** Spans in the order in which a Collector hears of them: as they end, over all traces that run at once. */
function* spansAsTheyEnd(options: SpanCorpusOptions, notes: Notes): Generator<WrittenSpan, number> {
  const { seed, spans, startMs, durationMs = denseMs(spans) } = options
  const dice = createDice(seed)
  const writer = createProtobufWriter()
  const sampleEvery = Math.max(1, Math.floor(spans / 24 / samplesMax))
  let waiting: WrittenSpan[] = []
  let [made, trace] = [0, 0]
  while (made < spans) {
    const part = dice.below(1_000) / 1_000
    const wanted = spansPerTrace.min + Math.floor((spansPerTrace.max - spansPerTrace.min + 1) * part * part)
    const tree = growTree(dice, Math.min(wanted, spans - made))
    const traceId = traceIdOf(seed, trace)
    const spanIds = tree.map((_, index) => spanIdOf(seed, made + index))
    const startUs = startMs * 1_000 + Math.floor((made / spans) * durationMs * 1_000) + dice.below(40_000)
    const number = trace
    const written = writeTrace(
      writer,
      dice,
      { traceId, startUs, spanIds, tree },
      ({ service, shape, durationUs }, { name }, failed) => {
        if (failed) noteTrace(notes.failed, service.name, number)
        if (shape !== 'server' || durationUs < slowMs * 1_000) return
        noteTrace(notes.slow, `${service.name}\n${name}`, number)
      },
    )
    for (const span of written) waiting.push(span)
    if (trace % sampleEvery === 0) notes.samples.push({ traceId: traceId.toString('hex'), spans: tree.length })
    made += tree.length
    trace++
    if (waiting.length < 2 * blockSpans && made < spans) continue
    waiting.sort((a, b) => a.endUs - b.endUs)
    const ready = made < spans ? blockSpans : waiting.length
    yield* waiting.slice(0, ready)
    waiting = waiting.slice(ready)
  }
  return trace
}

function* requestsOf(options: SpanCorpusOptions, notes: Notes): Generator<MadeBody, number> {
  const writer = createProtobufWriter()
  const spans = spansAsTheyEnd(options, notes)
  let batch: WrittenSpan[] = []
  const close = (): MadeBody => {
    const request = writeRequest(writer, batch)
    const records = batch.length
    batch = []
    return { body: gzipSync(request), records, rawBytes: request.length }
  }
  for (let next = spans.next(); ; next = spans.next()) {
    if (next.done === true) {
      if (batch.length > 0) yield close()
      return next.value
    }
    batch.push(next.value)
    if (batch.length === options.spansPerRequest) yield close()
  }
}

/** Traces of a shop of twelve services as gzipped OTLP protobuf requests: the same options, the same bytes. */
export function makeSpanCorpus(
  file: string,
  options: SpanCorpusOptions,
): Readonly<{ bodies: Bodies; facts: SpanFacts }> {
  const notes: Notes = { samples: [], slow: new Map(), failed: new Map() }
  let traces = 0
  function* made(): Generator<MadeBody> {
    traces = yield* requestsOf(options, notes)
  }
  const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' }
  const bodies = writeBodies(file, headers, made())
  const slow = [...notes.slow].map(([key, found]) => {
    const [service = '', operation = ''] = key.split('\n')
    return { service, operation, traces: found.size }
  })
  const failed = [...notes.failed].map(([service, found]) => ({ service, traces: found.size }))
  return { bodies, facts: { spans: bodies.records, traces, samples: notes.samples, slow, failed } }
}
