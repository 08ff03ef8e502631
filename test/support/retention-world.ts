import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildName } from '#projections/rosters/build-name.ts'
import type { BuildContext } from '#projections/builds/build-place.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { createDecoders } from '#projections/folding/decoders.ts'
import { firstDayBy, withFirstDays, type Keepings } from '#projections/retention/first-days.ts'
import type { IndexReader, IndexWriter } from '#projections/index-store.ts'
import { openLane, type Lane } from '#projections/folding/lane.ts'
import { messageOf, type LogDocument } from '#projections/logs/log-document.ts'
import type { Projection } from '#projections/projection.ts'
import { projections as allProjections } from '#projections/registry.ts'
import { applyRetention, type Retained } from '#projections/retention/retention.ts'
import { startRetention, type RetentionEvents } from '#projections/retention/retention-schedule.ts'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { createSqliteIndexReader } from '#projections/stores/sqlite/reading/reader.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import { retentionClassOf } from '#src/events/retention.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { dayBefore } from '#src/lib/day.ts'
import type { Timers } from '#src/lib/timers.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { readCurrent } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'
import { makeLogFolder } from './log-folder.ts'
import { memoryContext, sqliteContext } from './build-context.ts'
import { hex, otlpJson } from './telemetry.ts'
import { liveOf } from '#test/support/promote.ts'

export const free = workspaceIdOf('free')
export const pro = workspaceIdOf('pro')
/** The last day of a world's life. */
export const today = '2026-11-21'

export const ago = (days: number): string => dayBefore(today, days)

type Fields = Pick<NewEvent, 'type' | 'contentType' | 'counts' | 'identified'>

function eventOf(workspaceId: WorkspaceId, name: string, receivedAt: number, fields: Fields, body: string): NewEvent {
  return sealEvent(
    {
      id: `${workspaceId}.test.${name}`,
      schemaVersion: 1,
      workspaceId,
      keyId: `key-${workspaceId}`,
      receivedAt,
      retentionClass: retentionClassOf(workspaceId === free ? 7 : 30),
      ...fields,
    },
    Buffer.from(body),
  )
}

/** A trace of the day, a span of one that goes on from day to day, and a log record that says the day. */
export function eventsOn(workspaceId: WorkspaceId, day: string): readonly NewEvent[] {
  const at = Date.parse(`${day}T10:00:00Z`)
  const startNs = BigInt(at) * 1_000_000n
  const spanOf = (trace: string, span: string) => ({ traceId: hex(32, trace), spanId: hex(16, span), startNs })
  const spans = [
    spanOf(`${workspaceId} ${day}`, `a ${day}`),
    spanOf(`${workspaceId} ${day}`, `b ${day}`),
    spanOf(`${workspaceId} long`, `long ${day}`),
  ]
  const traced: Fields = {
    type: 'spans.received',
    contentType: 'application/json',
    identified: true,
    counts: { ...noCounts, spans: spans.length },
  }
  const logged: Fields = { ...traced, type: 'logs.received', identified: false, counts: { ...noCounts, logs: 1 } }
  return [
    eventOf(workspaceId, `spans-${day}`, at, traced, otlpJson(spans)),
    eventOf(workspaceId, `logs-${day}`, at + 1, logged, JSON.stringify([{ message: `day ${day}` }])),
  ]
}

export type Place = Readonly<{
  stream: Stream
  openWriter(): IndexWriter
  reader: IndexReader
  context(given: Parameters<typeof memoryContext>[0]): BuildContext
  remove(): Promise<void>
}>

export function memoryPlace(): Place {
  const store = createMemoryIndexStore()
  return {
    stream: createMemoryStream({ partition: '0' }),
    openWriter: () => store.writer,
    reader: store.reader,
    context: (given) => memoryContext(given, store),
    remove: async () => undefined,
  }
}

export async function sqlitePlace(): Promise<Place & Readonly<{ folder: string }>> {
  const log = await makeLogFolder()
  const folder = mkdtempSync(join(tmpdir(), 'throughline-retention-'))
  const stream = await log.open()
  const files = { indexFilesOpenMax: 64, patternExpansionsMax: 1_000, patternScanTermsMax: 2_000_000 }
  const reader = createSqliteIndexReader({ folder, limits: files })
  return {
    folder,
    stream,
    openWriter: () => createSqliteIndexWriter({ folder, limits: files }),
    reader,
    context: (given) => sqliteContext(given, folder),
    remove: async () => {
      await reader.close()
      await stream.close()
      await log.remove()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Workspaces on a partition with a clock that the test moves; what is received is folded at once, as by a projector. */
export function createWorld(place: Place, projections: readonly Projection[] = allProjections) {
  const { stream } = place
  let now = 0
  let writer: IndexWriter | undefined
  let lanes: readonly Lane[] = []
  const livedOn: string[] = []
  const clock = (): number => now
  const timers = { every: () => () => undefined, pause: async () => undefined, turn: async () => undefined }
  const plans = new Map([
    [free, { retentionDays: 7 }],
    [pro, { retentionDays: 30 }],
  ])
  const of: Keepings['of'] = (id) => plans.get(id) ?? { retentionDays: 30 }
  const keepings = async (): Promise<Keepings> => ({ of, all: [...plans.values()] })
  const firstDay = firstDayBy(projections, of, clock)
  const decoders = createDecoders(limits)
  const writerNow = (): IndexWriter => (writer ??= place.openWriter())

  async function openLanes(): Promise<void> {
    const options = {
      writer: writerNow(),
      epoch: stream.epoch,
      clock,
      limits,
      decode: createDecoder(decoders),
      deadLetters: createDeadLetters({ stream, clock }),
    }
    lanes = await Promise.all(
      projections.map(async (projection) => {
        const live = await liveOf(writerNow(), projection.name)
        const lane = await openLane(projection, live ?? buildName(projection, 1), options)
        await changeRoster(writerNow(), projection.name, nominate(lane.index))
        return lane
      }),
    )
  }
  async function fold(): Promise<void> {
    if (lanes.length === 0) await openLanes()
    const head = await stream.head()
    const decode = createDecoder(decoders)
    for (const lane of lanes) {
      while (lane.position() < head) {
        const events = await readCurrent(stream, lane.position(), 500)
        await lane.fold(events.map(decode), events.at(-1)?.position ?? head)
      }
      await lane.heartbeat(head)
    }
  }
  return {
    clock,
    stream,
    /** What readers of the service ask. */
    reader: withFirstDays(place.reader, firstDay),
    writer: writerNow,
    context: place.context({ stream, projections, decoders, clock, firstDay }),
    setPlan: (workspaceId: WorkspaceId, retentionDays: number): void => void plans.set(workspaceId, { retentionDays }),
    fold,
    /** The days on which something was received, from one on. */
    lived: (from: string): readonly string[] => livedOn.filter((day) => day >= from),
    async liveOn(day: string): Promise<void> {
      now = Date.parse(`${day}T12:00:00Z`)
      livedOn.push(day)
      for (const workspaceId of [free, pro]) await stream.append(eventsOn(workspaceId, day))
      await fold()
    },
    /** Goes on at another time, without anything received. */
    moveTo: (time: string): void => void (now = Date.parse(time)),
    /** One run that does all there is to do, unless `daysMax` says how many days it may cut. */
    retain: ({
      daysMax = Number.POSITIVE_INFINITY,
      ...given
    }: Readonly<{ stream?: Stream; writer?: IndexWriter; daysMax?: number }> = {}): Promise<Retained> =>
      applyRetention(
        { stream, writer: writerNow(), projections, clock, timers, limits, keepings, ...given },
        new AbortController().signal,
        { daysMax, mayCatchUp: true },
      ),
    /** Turn after turn, as a process takes them; `pause` is how it waits. */
    startRetaining: (pause: Timers['pause'], events: RetentionEvents): (() => void) =>
      startRetention(
        { stream, writer: writerNow(), projections, clock, timers: { ...timers, pause }, limits, keepings },
        events,
      ),
    /** As after the process has ended. */
    async restart(): Promise<void> {
      await writer?.close()
      writer = undefined
      lanes = []
      await fold()
    },
    close: async (): Promise<void> => {
      await writer?.close()
      await place.remove()
    },
  }
}
export type World = ReturnType<typeof createWorld>

/** The days of which log records of a workspace are shown. */
export async function daysShown(
  { reader }: Pick<World, 'reader'>,
  workspaceId: WorkspaceId,
): Promise<readonly string[]> {
  const hits = await reader.search<LogDocument>(
    { workspaceId, projection: 'logs', collection: 'logs' },
    { filter: { kind: 'all' }, orderBy: 'timeNs', direction: 'asc', limit: 1_000 },
  )
  return hits.map(({ document }) => messageOf(document).replace('day ', ''))
}

/** The days that builds hold parts of. */
export async function daysHeld(
  { context }: World,
  index: string,
  workspaceId: WorkspaceId,
): Promise<readonly string[]> {
  const audit = context.index.audit()
  try {
    const parts = await audit.parts(index)
    return parts.flatMap((part) => (part.workspaceId === workspaceId ? [part.day] : [])).sort()
  } finally {
    await audit.close()
  }
}
