import type { Decoders } from '#projections/folding/decoded-event.ts'
import { recordId, type Collection, type Key, type Projection } from '#projections/projection.ts'
import { openPayload, sealEvent } from '#src/events/codec.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { words } from '#src/events/tokens.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

/** Events whose payload is a JSON list of lines, and two small projections of them. */
export function lineEvent(n: number, lines: readonly string[], workspace = 'acme'): NewEvent {
  return sealEvent(
    {
      id: `${workspace}.logs.${n.toString(16).padStart(32, '0')}`,
      type: 'logs.received',
      schemaVersion: 1,
      workspaceId: workspaceIdOf(workspace),
      keyId: null,
      receivedAt: Date.UTC(2026, 10, 21, 23) + n * 120_000,
      retentionClass: '30d',
      identified: true,
      counts: { ...noCounts, logs: lines.length },
      contentType: 'application/json',
    },
    Buffer.from(JSON.stringify(lines)),
  )
}

function lineRecord(message: string, ordinal: number, receivedAt: number): LogRecord {
  return {
    ordinal,
    timeNs: BigInt(receivedAt) * 1_000_000n,
    level: null,
    message,
    service: null,
    traceId: null,
    spanId: null,
    sessionId: null,
    source: 'logs',
    fields: {},
    cuts: [],
  }
}

export const lineDecoders: Decoders = {
  open: (event) => openPayload(event),
  spans: () => [],
  logs: (payload, _contentType, receivedAt) =>
    (JSON.parse(Buffer.from(payload).toString()) as readonly string[]).map((message, ordinal) =>
      lineRecord(message, ordinal, receivedAt),
    ),
  rum: () => ({ spans: [], logs: [], rumEvents: [] }),
}

/** A program that cannot read an event with one of these lines. */
export const failingOn = (...poison: readonly string[]): Decoders => ({
  ...lineDecoders,
  logs: (...given) => {
    const logs = lineDecoders.logs(...given)
    const found = logs.find(({ message }) => poison.includes(message))
    if (found !== undefined) throw new Error(`cannot read ${found.message}`)
    return logs
  },
})

type Counter = Readonly<{ name: string; lines: number }>
const counters: Collection<Counter> = {
  name: 'counters',
  kind: 'document',
  lookbackDays: 1,
  fields: { lines: 'number', name: 'keyword' },
  searchable: ({ name, lines }) => ({ timeNs: 0n, fields: { lines, name } }),
}
const counterKey = (id: string): Key<Counter> => ({ collection: counters, id })

type Said = Readonly<{ message: string }>
const said: Collection<Said> = {
  name: 'said',
  kind: 'record',
  lookbackDays: 0,
  fields: { message: 'tokens' },
  searchable: ({ message }) => ({ timeNs: 0n, fields: { message: words(message).join(' ') } }),
}

/** How often each line was received, and each line as a record. */
export const counting: Projection = {
  name: 'counting',
  version: 1,
  handles: ['logs.received'],
  collections: { counters, said },
  needs: (event) => event.logs().map(({ message }) => counterKey(message)),
  fold(event, documents) {
    for (const { message, timeNs, ordinal } of event.logs()) {
      documents.update(counterKey(message), (counter) => ({ name: message, lines: (counter?.lines ?? 0) + 1 }))
      const id = recordId(timeNs, event.event.id.split('.').at(-1) ?? '', ordinal)
      documents.put({ collection: said, id }, { message })
    }
  },
}

/** The same under another name. */
export const mirror: Projection = { ...counting, name: 'mirror' }

/** What no program throws on purpose. */
function trip(): never {
  throw new TypeError('undefined is not a word')
}
const tripOn = (poison: string, line: string): void => void (line === poison && trip())

/** Programs with a defect: what one of them does with this line fails. */
export const defective = (poison: string): Readonly<Record<'needs' | 'fold' | 'index', Projection>> => ({
  needs: {
    ...counting,
    needs(event, loaded) {
      for (const { message } of event.logs()) tripOn(poison, message)
      return counting.needs(event, loaded)
    },
  },
  fold: {
    ...counting,
    fold(event, documents) {
      counting.fold(event, documents)
      for (const { message } of event.logs()) tripOn(poison, message)
    },
  },
  index: {
    ...counting,
    collections: {
      counters,
      said: { ...said, searchable: (one: Said) => (tripOn(poison, one.message), said.searchable(one)) },
    },
  },
})

/** A program that fails with what is stored of a line that it has met before. */
export const failingTwice: Projection = {
  ...counting,
  fold(event, documents) {
    for (const { message } of event.logs()) if (documents.get(counterKey(message)) !== undefined) trip()
    counting.fold(event, documents)
  },
}
