import { buildVersion } from '#projections/rosters/build-name.ts'
import { isFolded } from '#projections/index-store.ts'
import { deadLettersAfter, deadLettersSubject } from '#src/events/dead-letter.ts'
import { ok } from '#src/lib/result.ts'
import type { Quarantined } from '#streams/sqlite/mending/quarantine.ts'
import type { Stream } from '#streams/stream.ts'
import {
  indexesText,
  logText,
  fullText,
  quarantineText,
  type IndexStatus,
  type LogStatus,
  type QuarantineStatus,
} from './show-status.ts'
import { counted, isoTime } from './show.ts'
import { askIndexes, type Asked, type AskedIndexes } from './ask-indexes.ts'
import type { CliServices } from './services.ts'
import type { Verb } from './verb.ts'

/** Of each projection, by name. */
type DeadLetterCounts = ReadonlyMap<string, number>
type IndexState = Omit<IndexStatus, 'projection' | 'partition' | 'dead_letters' | 'error'>
const unknown = { index: null, position: 0, lag: null, heard_at: null, lost_days: 0, closed_days: 0 } as const

function stateOf({ progress, error }: Asked, head: number, now: number): IndexState {
  if (error !== null) return { ...unknown, state: 'not readable' }
  if (progress === undefined) return { ...unknown, state: 'not built' }
  const { index, position, at, lostDays = [], isOfAnotherVersion = false } = progress
  const reached = lostDays.length === 0 ? 'complete' : 'lacks days'
  const state = position >= head ? reached : 'behind'
  const closed = lostDays.filter(({ isClosed }) => isClosed === true)
  const days = { lost_days: lostDays.length, closed_days: closed.length }
  const of = { index, position, lag: Math.max(0, head - position), heard_at: at === 0 ? null : isoTime(at), ...days }
  if (isOfAnotherVersion) return { ...of, state: 'other version' }
  return { ...of, state: isFolded(progress, now) ? state : 'silent' }
}

/** What the live builds leave out. */
async function countDeadLetters(log: Stream, asked: AskedIndexes): Promise<DeadLetterCounts> {
  const counts = new Map<string, number>()
  for (const [name, { progress }] of asked) {
    if (progress === undefined) continue
    const newest = await log.last(deadLettersSubject({ name, version: buildVersion(progress.index) }))
    const open = deadLettersAfter(newest, log.epoch).filter(({ state }) => state === 'open')
    counts.set(name, open.length)
  }
  return counts
}

async function statusOf(log: Stream): Promise<LogStatus> {
  const first = await log.first()
  return {
    partition: log.partition,
    head: await log.head(),
    first:
      first === undefined ? null : { position: first.position, received_at: new Date(first.receivedAt).toISOString() },
  }
}

const withoutReport = { log: null, kind: null, at: null, reason: null, kept: null, lost: null } as const

function quarantineOf({ folder, report }: Quarantined): QuarantineStatus {
  if (report === undefined) return { ...withoutReport, folder }
  const { kind = 'damaged', name: log, at, reason, kept, lost } = report
  return { log, kind, at, folder, reason, kept, lost }
}

async function readLogs(
  services: CliServices,
  dataFolder: string,
  asked: readonly AskedIndexes[],
): Promise<readonly Readonly<{ log: LogStatus; deadLetters: DeadLetterCounts }>[]> {
  const logs = await services.openLogs(dataFolder)
  try {
    return await Promise.all(
      logs.map(async (log, number) => ({
        log: await statusOf(log),
        deadLetters: await countDeadLetters(log, asked[number] ?? new Map()),
      })),
    )
  } finally {
    await Promise.all(logs.map((log) => log.close()))
  }
}

const notBuilt: Asked = { progress: undefined, error: null }

export const status: Verb = {
  about:
    'shows how far the log and each index are, partition by partition; exit code 1 if an index cannot be read, after all others are shown',
  run: async ({ services, dataFolder, clock, directory: open }) => {
    const directory = await open()
    // Indexes first: one is then never shown ahead of the log.
    const asked = await askIndexes(services, dataFolder)
    const logs = await readLogs(services, dataFolder, asked)
    const indexes = services.projections.flatMap((projection) =>
      logs.map(({ log: { partition, head }, deadLetters }, number): IndexStatus => {
        const found = asked[number]?.get(projection) ?? notBuilt
        const letters = found.error === null ? (deadLetters.get(projection) ?? 0) : null
        const state = stateOf(found, head, clock())
        return { projection, partition, ...state, dead_letters: letters, error: found.error }
      }),
    )
    const quarantines = services.quarantines(dataFolder).map(quarantineOf)
    const full = services.fullDisks(dataFolder)
    const workspaces = directory.workspaces().length
    return ok({
      json: {
        directory: { position: directory.position(), workspaces },
        logs: logs.map(({ log }) => log),
        indexes,
        quarantines,
        full_disks: full,
      },
      text: [
        `Directory at position ${directory.position()}, ${counted(workspaces, 'workspace')}.`,
        ...logs.map(({ log }) => logText(log)),
        ...quarantines.map(quarantineText),
        ...full.map(fullText),
        ...indexesText(indexes),
      ].join('\n'),
      exitCode: indexes.some(({ error }) => error !== null) ? 1 : 0,
    })
  },
}
