import { isOfTenant, workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { fail } from '#src/lib/result.ts'
import { readCurrent } from '#streams/follow.ts'
import type { FirstEvent, Stream } from '#streams/stream.ts'
import { optional, workspaceNamed, workspaceOption } from './options.ts'
import { unknownWorkspace } from './refusals.ts'
import { readEvents, type PlacedEvent } from './replay-file.ts'
import { withSink } from './replay-sink.ts'
import { createTally } from './replay-tally.ts'
import { wantedOf, type Wanted } from './replay-wanted.ts'
import type { Outcome, Verb, VerbContext } from './verb.ts'

const eventsAtOnce = 256

/** Says that a log was cut, where events are asked for that were before. */
function tellCut({ io, options }: VerbContext, partition: string, { position, receivedAt }: FirstEvent): void {
  const begins = `it begins with ${partition}/${position}, received at ${new Date(receivedAt).toISOString()}`
  const notice = `partition ${partition} was cut: ${begins}; what was before is gone`
  io.stderr.write(`${options['json'] === true ? JSON.stringify({ notice }) : notice}\n`)
}

/** The log of a partition as it stands now, in order. */
async function* eventsOf(given: VerbContext, stream: Stream, wanted: Wanted): AsyncGenerator<PlacedEvent> {
  const { after, until, reachesBefore } = wanted
  const head = Math.min(await stream.head(), until)
  const first = await stream.first()
  if (first !== undefined && reachesBefore(first)) tellCut(given, stream.partition, first)
  // If the beginning was cut, start with what is left.
  for (let position = after < (first?.position ?? 0) ? 0 : after; position < head;) {
    const events = await readCurrent(stream, position, eventsAtOnce)
    for (const event of events) if (event.position <= head) yield { partition: stream.partition, event }
    const last = events.at(-1)
    if (last === undefined) return
    position = last.position
  }
}

async function* eventsOfLogs(given: VerbContext, logs: readonly Stream[], wanted: Wanted): AsyncGenerator<PlacedEvent> {
  wanted.checkPartitions(logs.map(({ partition }) => partition))
  for (const log of logs) if (wanted.concerns(log.partition)) yield* eventsOf(given, log, wanted)
}

/** The events of a file, which is refused at its end if it has events, and none of a partition that is asked for. */
async function* eventsOfFile(path: string, wanted: Wanted): AsyncGenerator<PlacedEvent> {
  const partitions = new Set<string>()
  for await (const placed of readEvents(path)) {
    partitions.add(placed.partition)
    yield placed
  }
  if (partitions.size > 0) wanted.checkPartitions([...partitions].toSorted((a, b) => Number(a) - Number(b)))
}

/** The workspace that is meant. An id is taken as it is: one in a file need not be known here, and the directory may have lost one. */
async function workspaceOf(given: VerbContext, name: string): Promise<WorkspaceId | undefined> {
  const id = isOfTenant(name) ? workspaceIdOf(name) : undefined
  if (id !== undefined && optional(given, 'in') !== undefined) return id
  return (await workspaceNamed(given, name)) ?? id
}

/** How many workspaces of a file are named. */
const othersMax = 20

/**
 * The refusal if no event of the workspace was found, though the file has events, or the directory does not know the workspace. With exit code 0,
 * whoever sends the events would believe that all are there.
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

async function replayAll(given: VerbContext, workspaceId: WorkspaceId | undefined): Promise<Outcome> {
  const wanted = wantedOf(given, workspaceId)
  const file = optional(given, 'in')
  const logs = file === undefined ? await given.services.openLogs(given.dataFolder) : []
  const tally = createTally()
  const met = new Set<WorkspaceId>()
  try {
    return await withSink(given, async (sink) => {
      const events = file === undefined ? eventsOfLogs(given, logs, wanted) : eventsOfFile(file, wanted)
      for await (const placed of events) {
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
