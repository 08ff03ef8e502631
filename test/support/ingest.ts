import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { limits as allLimits, plans, type Limits } from '#src/config.ts'
import type { Key, WorkspacePlan } from '#src/directory/directory.ts'
import { openPayload } from '#src/events/codec.ts'
import { monthOf } from '#src/events/allowance.ts'
import { beforeAll, type RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import {
  createReservedAllowance,
  type ReservedAllowance,
  type ReservedAllowanceOptions,
} from '#src/ingest/reserved-allowance.ts'
import { createBodyBudget } from '#src/http/body.ts'
import { createIngestRoutes } from '#src/ingest/routes.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { endingTurns } from './ending-turns.ts'
import { createFakeDirectory, type FakeDirectory } from './fake-directory.ts'
import { listen, type TestServer } from './http.ts'

export type Answer = Readonly<{ status: number; headers: Headers; body: Buffer; text: string; json: unknown }>

export type TestIngest = Readonly<{
  server: TestServer
  stream: Stream
  directory: FakeDirectory
  workspace: WorkspaceId
  keys: Readonly<{ publishable: string; logs: string; tracing: string; api: string }>
  exposed: readonly Key[]
  /** What the service takes for now, in ms since the epoch, and for ticks: each goes on when it is told to. */
  now: { ms: number; ticks: number }
  post(path: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** The span allowance as another process on the same log keeps it. */
  otherProcess(): ReservedAllowance
  /** What came in; not how the allowance was kept. */
  events(): Promise<readonly RecordedEvent[]>
  payloadText(event: RecordedEvent | undefined): string
}>

type Options = Readonly<{
  plan?: Partial<WorkspacePlan>
  limits?: Partial<Limits>
  /** What an index says of the spans that count, if it is not what the log holds. */
  counted?: ReservedAllowanceOptions['counted']
  /** The log that requests are written to, if it is not this one of memory. */
  through?: (stream: Stream) => Stream
}>

async function allEvents(stream: Stream): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for (;;) {
    const more = await stream.read(events.at(-1)?.position ?? beforeAll, 1_000)
    if (more.length === 0) return events
    events.push(...more)
  }
}

/** Spans of a month in the log, by headers alone. */
export async function usedSpansOf(stream: Stream, workspaceId: WorkspaceId, month: string): Promise<number> {
  const events = await allEvents(stream)
  const counted = events.filter((event) => event.workspaceId === workspaceId && monthOf(event.receivedAt) === month)
  return counted.reduce((sum, { counts }) => sum + counts.spans, 0)
}

/** The three ways in on a real socket, over a log in memory and a directory without events. */
export async function startIngest({
  plan = {},
  limits = {},
  counted,
  through = (stream) => stream,
}: Options = {}): Promise<TestIngest> {
  const directory = createFakeDirectory()
  const workspace = directory.addWorkspace('acme', { ...(plans['pro'] as WorkspacePlan), ...plan })
  const memory = endingTurns(createMemoryStream({ partition: '0' }))
  const stream = through(memory)
  const now = { ms: Date.UTC(2026, 10, 21, 12), ticks: 0 }
  const clock = () => now.ms
  const exposed: Key[] = []
  let ids = 0
  const newId = (): string => (++ids).toString(16).padStart(32, '0')
  const allOfThem = { ...allLimits, ...limits }
  const createGate = (holder: string): ReservedAllowance =>
    createReservedAllowance({
      stream,
      clock,
      ticks: () => now.ticks,
      holder,
      newId,
      timers: systemTimers,
      random: Math.random,
      limits: allOfThem,
      isGone: () => false,
      counted: counted ?? ((workspace, month) => usedSpansOf(memory, workspace, month)),
      onFailure: () => undefined,
    })
  const gate = createGate('this process')
  const gates = [gate]
  const routes = createIngestRoutes({
    directory: directory.view,
    partitions: [{ stream, gate }],
    limits: allOfThem,
    budget: createBodyBudget(allOfThem.bodiesInFlightBytesMax),
    clock,
    ticks: () => now.ticks,
    newId,
    onExposed: (key) => exposed.push(key),
  })
  const server = await listen({ routes, limits: allOfThem })
  const close = async (): Promise<void> => {
    await server.close()
    await Promise.all(gates.map((each) => each.close()))
    // Fails where turns at a ledger did not end.
    await memory.last('')
  }
  return {
    server: { ...server, close },
    stream: memory,
    directory,
    workspace,
    keys: {
      publishable: directory.addKey(workspace, 'publishable'),
      logs: directory.addKey(workspace, 'logs'),
      tracing: directory.addKey(workspace, 'tracing'),
      api: directory.addKey(workspace, 'api'),
    },
    exposed,
    now,
    otherProcess: () => {
      const other = createGate('another process')
      gates.push(other)
      return other
    },
    post: async (path, body, headers = {}) => {
      const sent = typeof body === 'string' ? body : Buffer.from(body)
      const response = await fetch(server.baseUrl + path, { method: 'POST', body: sent, headers, redirect: 'manual' })
      const bytes = Buffer.from(await response.arrayBuffer())
      const text = bytes.toString('utf8')
      const isJson = response.headers.get('content-type')?.includes('json') === true
      return {
        status: response.status,
        headers: response.headers,
        body: bytes,
        text,
        json: isJson ? (JSON.parse(text) as unknown) : undefined,
      }
    },
    events: async () => (await allEvents(memory)).filter(({ type }) => !type.startsWith('allowance.')),
    payloadText: (event) => (event === undefined ? '' : Buffer.from(openPayload(event)).toString('utf8')),
  }
}
