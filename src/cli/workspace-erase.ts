import { buildNumber } from '#projections/rosters/build-name.ts'
import { eraseWorkspace } from '#projections/retention/erase-workspace.ts'
import { reachedBy, type StoredBuild } from '#projections/index-store.ts'
import type { Directory } from '#src/directory/create-directory.ts'
import { nameKey } from '#src/directory/normal-form.ts'
import { erasureSubject, isErasure } from '#src/events/erasure.ts'
import type { Position, RecordedEvent } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Refused } from '#src/directory/directory-writer.ts'
import { present } from '#src/lib/assert.ts'
import { isOperatingFailure, TransientError } from '#src/lib/failure.ts'
import { randomId } from '#src/lib/random-id.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { shellWord } from '#src/lib/shell-quote.ts'
import { readCurrent } from '#streams/follow.ts'
import { counted } from './show.ts'
import { optional } from './options.ts'
import { unknownWorkspace } from './refusals.ts'
import { UsageError, type Outcome, type Verb, type VerbContext } from './verb.ts'
import type { OpenBuilds } from './services.ts'
import { withBuilds } from './with-builds.ts'

type Named = Readonly<{ id: WorkspaceId; name: string }>

const eventsAtOnce = 256
/** The longest time that a process takes until it refuses the keys of an erased workspace. */
const refusedAfterMs = 1_000
const patienceMs = 60_000
/** By then another process has taken over a build whose process was lost. */
const takeoverMs = 15_000
const pollMs = 100

/**
 * Finds the workspace, also an erased one: to ask again finishes an erasure that was interrupted. A new workspace may have its name by then, and
 * must not be taken for it.
 */
function workspaceOf(directory: Directory, name: string): Result<Named, Refused> {
  const living = directory.workspaceNamed(name)
  const key = nameKey(name)
  const erased = directory.erasedWorkspaces().filter((one) => one.id === name || nameKey(one.name) === key)
  const found = living ?? erased.at(-1)
  if (found === undefined) return unknownWorkspace(name)
  if (living === undefined || erased.length === 0) return ok(found)
  const detail = `${living.id} is called ${name}, and so was ${erased.map(({ id }) => id).join(', ')}, which was erased: name the one you mean by its id.`
  return fail({ code: 'exists', field: 'workspace', detail })
}

type Counts = Readonly<{ events: number; bytes: number; spans: number; logs: number; rum_events: number }>

function countsText({ events, bytes, spans, logs, rum_events: rumEvents }: Counts): string {
  const held = [counted(spans, 'span'), counted(logs, 'log'), counted(rumEvents, 'browser event')]
  return `${counted(events, 'event')} of the log, ${counted(bytes, 'byte')} as stored: ${held.join(', ')}`
}

/** Counts the workspace's events in the log of its partition. */
async function countEvents({ stream }: OpenBuilds, { id }: Named) {
  const counts = { events: 0, bytes: 0, spans: 0, logs: 0, rum_events: 0 }
  const head = await stream.head()
  for (let position: Position = 0; position < head;) {
    const events = await readCurrent(stream, position, eventsAtOnce)
    for (const event of events) {
      if (event.workspaceId !== id || isErasure(event)) continue
      counts.events++
      counts.bytes += event.payload.length
      counts.spans += event.counts.spans
      counts.logs += event.counts.logs
      counts.rum_events += event.counts.rumEvents
    }
    position = events.at(-1)?.position ?? head
  }
  return counts
}

/** The builds that hold anything of the workspace, and for how many days. */
async function buildsWith({ index, projections }: OpenBuilds, { id }: Named) {
  const [writer, audit] = [index.writer(), index.audit()]
  try {
    const found: { build: string; days: number }[] = []
    for (const { name } of projections) {
      for (const { index: build } of await writer.builds(name)) {
        const days = (await audit.parts(build)).filter(({ workspaceId }) => workspaceId === id).length
        if (days > 0) found.push({ build, days })
      }
    }
    return found
  } finally {
    await audit.close()
    await writer.close()
  }
}

/** Damaged logs that were set aside are left as they are: nobody can cut out of them what cannot be read. */
function setAside({ services, dataFolder }: VerbContext) {
  const folders = services.quarantines(dataFolder).map(({ folder }) => folder)
  const text = `Damaged logs that were set aside may still hold some of it. Delete them when you no longer need them: ${folders.join(', ')}.`
  return { folders, lines: folders.length === 0 ? [] : [text] }
}

/** Named by its id, because its name is free again. */
const again = ({ id }: Named): string => `throughline workspace erase ${id} --confirm ${id}`

/** The lines around the list of what would go, or is left. */
function aroundPreview({ names }: VerbContext, workspace: Named, isErased: boolean) {
  const called = `Workspace ${workspace.name} (${workspace.id})`
  const named = shellWord(names[0] ?? workspace.name)
  return isErased
    ? {
        before: `${called} is erased already; of what it sent, this is left:`,
        after: `Nothing was changed. To finish: ${again(workspace)}`,
        done: `${called} is erased already, and nothing that it sent is left.`,
      }
    : {
        before: `${called} would be erased for good, with its keys and memberships:`,
        after: `Nothing was changed. To erase it: throughline workspace erase ${named} --confirm ${named}`,
      }
}

async function preview(context: VerbContext, workspace: Named, isErased: boolean): Promise<Outcome> {
  const look = async (builds: OpenBuilds) => ({
    ...(await countEvents(builds, workspace)),
    builds: await buildsWith(builds, workspace),
  })
  const [found] = await withBuilds(context, look, { workspaceId: workspace.id })
  const { builds, ...counts } = present(found, 'each workspace has a partition')
  const held = builds.map(({ build, days }) => `  ${build}, ${counted(days, 'day')}`)
  const { folders, lines } = setAside(context)
  const { before, after, done } = aroundPreview(context, workspace, isErased)
  const json = {
    workspace: workspace.id,
    name: workspace.name,
    erased: isErased,
    ...counts,
    builds,
    set_aside: folders,
  }
  if (done !== undefined && counts.events === 0 && builds.length === 0)
    return ok({ json, text: [done, ...lines].join('\n') })
  const text = [before, `  ${countsText(counts)}`, ...held, ...lines, after]
  return ok({ json, text: text.join('\n'), exitCode: 1 })
}

/** How far a build is, and whether it may come further soon. */
function standingOf(build: StoredBuild, erasure: RecordedEvent, nowMs: number) {
  const erased = reachedBy(build, erasure.workspaceId, nowMs) >= erasure.position
  return { build: build.index, erased, waits: !erased && nowMs - build.heartbeat.at <= takeoverMs }
}

/** Builds of this log, and whether each has come to the erasure; waits for those that are being folded, or lately were. */
async function awaitBuilds({ index, projections, stream, clock, timers }: OpenBuilds, erasure: RecordedEvent) {
  const writer = index.writer()
  try {
    for (const until = clock() + patienceMs; ;) {
      const builds = (await Promise.all(projections.map(({ name }) => writer.builds(name)))).flat()
      const mine = builds.filter(({ epoch }) => epoch === stream.epoch)
      const told = mine.map((build) => standingOf(build, erasure, clock()))
      const isDone = !told.some(({ waits }) => waits) || clock() > until
      if (isDone) return told.map(({ build, erased }) => ({ build, erased }))
      await timers.pause(pollMs)
    }
  } finally {
    await writer.close()
  }
}

/** What the operator can do about the builds that still hold some of it. */
function stillToCome(pending: readonly string[], { projections }: OpenBuilds): readonly string[] {
  const isOwn = (build: string): boolean => projections.some((of) => buildNumber(of, build) !== undefined)
  const [own, others] = [pending.filter(isOwn), pending.filter((build) => !isOwn(build))]
  const waiting = `Still to come: what these hold of it goes when they are folded on or dropped (start the server; finish or drop the rebuild): ${own.join(', ')}.`
  const left = `Of another version, and not folded on: what these hold of it goes when they do (see throughline builds), or by throughline drop once readers have left them: ${others.join(', ')}.`
  return [...(own.length === 0 ? [] : [waiting]), ...(others.length === 0 ? [] : [left])]
}

async function eraseIn(builds: OpenBuilds, workspace: Named) {
  const { stream, projections, clock } = builds
  const { id } = workspace
  const isGone = await eraseWorkspace({ stream, projections, clock, newId: randomId }, id)
  const erasure = await stream.last(erasureSubject(id))
  const told = erasure === undefined ? [] : await awaitBuilds(builds, erasure)
  // Builds of another log, as from before a backup was restored, never reach the erasure.
  const others = (await buildsWith(builds, workspace)).filter(({ build }) => !told.some((one) => one.build === build))
  const all = [...told, ...others.map(({ build }) => ({ build, erased: false }))]
  const pending = all.filter(({ erased }) => !erased).map(({ build }) => build)
  return { isGone, builds: all, pending, waiting: stillToCome(pending, builds) }
}

/** The workspace is closed from then on, whatever keeps its events from being removed now. */
function brokenOff(workspace: Named, cause: Error): TransientError {
  const hint = `it is closed, and what it sent goes when the server can remove it; or run this again: ${again(workspace)}`
  return new TransientError({ operation: 'finish erasing', subject: `workspace ${workspace.name}`, cause, hint })
}

async function erase(context: VerbContext, directory: Directory, workspace: Named): Promise<Outcome> {
  if (directory.workspace(workspace.id) !== undefined) {
    const ended = await directory.eraseWorkspace(workspace.id)
    if (!ended.ok) return ended
    await new Promise((resolve) => void setTimeout(resolve, refusedAfterMs))
  }
  const eraseOne = (builds: OpenBuilds) => eraseIn(builds, workspace)
  const [done] = await withBuilds(context, eraseOne, { workspaceId: workspace.id }).catch((cause: unknown) => {
    throw isOperatingFailure(cause) ? brokenOff(workspace, cause) : cause
  })
  const { isGone, builds, pending, waiting } = present(done, 'each workspace has a partition')
  if (!isGone) {
    const detail = `More of ${workspace.name} keeps arriving. The server will finish this by itself; or run it again (${again(workspace)}).`
    return fail({ code: 'exists', field: 'workspace', detail })
  }
  const { folders, lines } = setAside(context)
  const text = [`Workspace ${workspace.name} (${workspace.id}) is erased.`, ...waiting, ...lines]
  const json = { workspace: workspace.id, name: workspace.name, erased: true, builds, pending, set_aside: folders }
  return ok({ json, text: text.join('\n') })
}

export const workspaceErase: Verb = {
  names: ['NAME'],
  usage: '[--confirm NAME]',
  about:
    'erases a workspace from the directory, the log and the indexes, for good; without --confirm it only says what would go',
  options: { confirm: { type: 'string' } },
  writes: true,
  run: async (context) => {
    const [name = ''] = context.names
    const confirmed = optional(context, 'confirm')
    if (confirmed !== undefined && confirmed !== name) {
      throw new UsageError(`--confirm ${confirmed} is not ${name}: nothing was changed`)
    }
    const directory = await context.directory()
    const workspace = workspaceOf(directory, name)
    if (!workspace.ok) return workspace
    const { value: named } = workspace
    if (confirmed !== undefined) return erase(context, directory, named)
    return preview(context, named, directory.workspace(named.id) === undefined)
  },
}
