import { once } from 'node:events'
import { formatHeader } from '#src/events/codec.ts'
import { telemetryEventTypes, type Position, type RecordedEvent } from '#src/events/envelope.ts'
import { parseTimeNs } from '#src/events/point-in-time.ts'
import { isOfTenant, workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { nearest } from '#src/lib/nearest.ts'
import { fail, ok } from '#src/lib/result.ts'
import { readCurrent } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'
import { createEventFile, readEvents, type PlacedEvent } from './replay-file.ts'
import type { Rejected } from './replay-answer.ts'
import { createSender } from './replay-send.ts'
import {
  concerns,
  optional,
  parsePosition,
  repeated,
  workspaceNamed,
  workspaceOption,
  type GivenPosition,
} from './options.ts'
import { unknownWorkspace } from './refusals.ts'
import { UsageError, type Outcome, type Verb, type VerbContext } from './verb.ts'

const eventsAtOnce = 256

/** A position, or a time of receipt (ms). */
type Bound = GivenPosition | Readonly<{ at: number }>

function boundOption(given: VerbContext, name: string): Bound | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const position = parsePosition(text)
  if (position !== undefined) return position
  const atNs = parseTimeNs(text, given.clock())
  if (atNs === undefined)
    throw new UsageError(`--${name} is a position, such as 0/4096, or a time, such as 2026-11-21T12:00Z or 2h`)
  return { at: Number(atNs / 1_000_000n) }
}

function typesOf(given: VerbContext): ReadonlySet<string> | undefined {
  const types = repeated(given, 'type')
  for (const type of types) {
    if ((telemetryEventTypes as readonly string[]).includes(type)) continue
    const meant = nearest(type, telemetryEventTypes)
    throw new UsageError(
      `--type ${type}: ${meant === undefined ? telemetryEventTypes.join(', ') : `did you mean ${meant}?`}`,
    )
  }
  return types.length === 0 ? undefined : new Set(types)
}

const isPosition = (bound: Bound | undefined): bound is GivenPosition => bound !== undefined && 'position' in bound

/** As for searches, and as nobody means it. A position and a time cannot be held against each other. */
function refuseBackwards(from: Bound | undefined, to: Bound | undefined): void {
  if (from === undefined || to === undefined) return
  if (isPosition(from) && isPosition(to) && !concerns(from, to.partition ?? from.partition)) {
    throw new UsageError('--from and --to are of different partitions')
  }
  const isBackwards = isPosition(from)
    ? isPosition(to) && from.position > to.position
    : !isPosition(to) && from.at > to.at
  if (isBackwards) throw new UsageError('--from is after --to')
}

type Wanted = Readonly<{
  isWanted: (placed: PlacedEvent) => boolean
  /** Nothing of other partitions. */
  concerns: (partition: string) => boolean
  after: Position
  until: Position
}>

function wantedOf(given: VerbContext, workspaceId: WorkspaceId | undefined): Wanted {
  const [from, to, types] = [boundOption(given, 'from'), boundOption(given, 'to'), typesOf(given)]
  refuseBackwards(from, to)
  const isAfter = (event: RecordedEvent, bound: Bound): boolean =>
    isPosition(bound) ? event.position >= bound.position : event.receivedAt >= bound.at
  const concernsAll = (partition: string): boolean =>
    [from, to].filter(isPosition).every((bound) => concerns(bound, partition))
  return {
    after: isPosition(from) ? from.position - 1 : 0,
    until: isPosition(to) ? to.position : Number.POSITIVE_INFINITY,
    concerns: concernsAll,
    isWanted: ({ partition, event }) =>
      concernsAll(partition) &&
      (from === undefined || isAfter(event, from)) &&
      (to === undefined || !isAfter(event, isPosition(to) ? { ...to, position: to.position + 1 } : to)) &&
      (types?.has(event.type) ?? true) &&
      (workspaceId === undefined || event.workspaceId === workspaceId),
  }
}

/** The log of a partition as it stands now, in order. */
async function* eventsOf(stream: Stream, { after, until }: Wanted): AsyncGenerator<PlacedEvent> {
  const head = Math.min(await stream.head(), until)
  const first = await stream.first()
  // What was cut cannot be shown: it begins with what is left.
  for (let position = after < (first?.position ?? 0) ? 0 : after; position < head;) {
    const events = await readCurrent(stream, position, eventsAtOnce)
    for (const event of events) if (event.position <= head) yield { partition: stream.partition, event }
    const last = events.at(-1)
    if (last === undefined) return
    position = last.position
  }
}

async function* eventsOfAll(logs: readonly Stream[], wanted: Wanted): AsyncGenerator<PlacedEvent> {
  const meant = logs.filter(({ partition }) => wanted.concerns(partition))
  if (meant.length === 0) throw new UsageError('there is no such partition')
  for (const log of meant) yield* eventsOf(log, wanted)
}

/** Where events go; `take` says what of one was not taken there, undefined for one that cannot go there. */
type Sink = Readonly<{
  take(placed: PlacedEvent): Promise<Rejected | undefined>
  end(): Promise<void>
  /** Instead of `end`, where not all that was wanted could be read. */
  abandon?(): Promise<void>
  done: string
}>

const nothingRejected: Rejected = { records: 0, reason: undefined }

const printSink = ({ stdout }: VerbContext['io']): Sink => ({
  done: '',
  async take({ partition, event }) {
    const header = JSON.parse(formatHeader(event)) as object
    const more = stdout.write(`${JSON.stringify({ partition, position: event.position, ...header })}\n`)
    if (more === false && 'once' in stdout) await once(stdout as NodeJS.WriteStream, 'drain')
    return nothingRejected
  },
  end: async () => {},
})

async function sinkOf(given: VerbContext): Promise<Sink> {
  const [url, out] = [optional(given, 'to-url'), optional(given, 'out')]
  if (url !== undefined && out !== undefined) throw new UsageError('--to-url and --out are two ways: choose one')
  if (url !== undefined) {
    // Else the events of all tenants would become those of the one whose keys are given.
    if (optional(given, 'workspace') === undefined) throw new UsageError('--to-url needs --workspace')
    const send = createSender(url, given.io.env, (reason) => given.io.stderr.write(`${reason}\n`))
    return { take: async ({ event }) => send(event), end: async () => {}, done: `sent to ${url}` }
  }
  if (out === undefined) return printSink(given.io)
  const file = await createEventFile(out)
  const take = async (placed: PlacedEvent): Promise<Rejected | undefined> => {
    await file.add(placed)
    return nothingRejected
  }
  return { take, end: () => file.end(), abandon: () => file.abandon(), done: `written to ${out}` }
}

/** So many events of which something was refused are named. */
const rejectionsMax = 20

/** What has become of the events, and the first of those of which something was refused where they went. */
function createTally() {
  const counts = { events: 0, left_out: 0, rejected: 0 }
  const rejections: { partition: string; position: Position; rejected: number; reason: string | null }[] = []
  let refusedEvents = 0
  return {
    add({ partition, event }: PlacedEvent, rejected: Rejected | undefined): void {
      if (rejected === undefined) {
        counts.left_out++
        return
      }
      counts.events++
      if (rejected.records === 0) return
      counts.rejected += rejected.records
      if (++refusedEvents > rejectionsMax) return
      const reason = rejected.reason ?? null
      rejections.push({ partition, position: event.position, rejected: rejected.records, reason })
    },
    done(what: string) {
      const rest = counts.left_out === 0 ? '' : ` ${counts.left_out} did not come from a sender and were left out.`
      const refused =
        refusedEvents === 0 ? '' : `\n${counts.rejected} records in ${refusedEvents} of them were refused there:`
      const first = rejections.map(
        ({ partition, position, rejected, reason }) =>
          `\n${partition}/${position}: ${rejected}${reason === null ? '' : `, ${reason}`}`,
      )
      const more = refusedEvents > rejections.length ? `\n… and of ${refusedEvents - rejections.length} more` : ''
      const text = what === '' ? '' : `${counts.events} events ${what}.${rest}${refused}${first.join('')}${more}`
      return ok({ json: { ...counts, rejections }, text, exitCode: refusedEvents === 0 ? 0 : 1 })
    },
  }
}

/** Which workspace is meant. An id is taken as it stands: one of a file need not be known here, nor one that the directory has lost. */
async function workspaceOf(given: VerbContext, name: string): Promise<WorkspaceId | undefined> {
  const id = isOfTenant(name) ? workspaceIdOf(name) : undefined
  if (id !== undefined && optional(given, 'in') !== undefined) return id
  return (await workspaceNamed(given, name)) ?? id
}

/** So many workspaces of a file are named. */
const othersMax = 20

/**
 * That nothing of the workspace was met, though a file has events, or where the directory does not know it: whoever sends it would take the
 * exit code 0 for all is there.
 */
async function noneOf(
  given: VerbContext,
  workspaceId: WorkspaceId,
  met: ReadonlySet<WorkspaceId>,
): Promise<Outcome | undefined> {
  if (met.has(workspaceId)) return undefined
  if (optional(given, 'in') === undefined) {
    const known = await workspaceNamed(given, workspaceId)
    return known === undefined ? unknownWorkspace(workspaceId) : undefined
  }
  if (met.size === 0) return undefined
  const named = [...met].slice(0, othersMax).join(', ')
  const detail = `The file has no event of ${workspaceId}. It has those of: ${named}${met.size > othersMax ? ', …' : ''}.`
  return fail({ code: 'unknown', field: 'workspace', detail })
}

/** What is not brought to its end leaves nothing where it was to go. */
async function withSink(given: VerbContext, task: (sink: Sink) => Promise<Outcome>): Promise<Outcome> {
  const sink = await sinkOf(given)
  try {
    const outcome = await task(sink)
    if (!outcome.ok) await sink.abandon?.()
    return outcome
  } catch (error) {
    await sink.abandon?.()
    throw error
  }
}

async function replayAll(given: VerbContext, workspaceId: WorkspaceId | undefined): Promise<Outcome> {
  const wanted = wantedOf(given, workspaceId)
  const file = optional(given, 'in')
  const logs = file === undefined ? await given.services.openLogs(given.dataFolder) : []
  const tally = createTally()
  const met = new Set<WorkspaceId>()
  try {
    return await withSink(given, async (sink) => {
      for await (const placed of file === undefined ? eventsOfAll(logs, wanted) : readEvents(file)) {
        if (isOfTenant(placed.event.workspaceId)) met.add(placed.event.workspaceId)
        if (wanted.isWanted(placed)) tally.add(placed, await sink.take(placed))
      }
      const none = workspaceId === undefined ? undefined : await noneOf(given, workspaceId, met)
      if (none !== undefined) return none
      await sink.end()
      return tally.done(sink.done)
    })
  } finally {
    await Promise.all(logs.map((log) => log.close()))
  }
}

export const replay: Verb = {
  usage: '[--from P] [--to P] [--workspace W] [--type T …] [--in FILE] [--to-url URL|--out FILE]',
  about:
    'reads stored events again: prints their headers, sends them to another installation, or writes them to a file',
  options: {
    from: { type: 'string' },
    to: { type: 'string' },
    workspace: { type: 'string' },
    type: { type: 'string', multiple: true },
    in: { type: 'string' },
    'to-url': { type: 'string' },
    out: { type: 'string' },
  },
  run: async (given) => {
    const workspace = await workspaceOption(given, workspaceOf)
    if (!workspace.ok) return workspace
    return replayAll(given, workspace.value)
  },
}
