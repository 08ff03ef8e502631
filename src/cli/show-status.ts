import type { FullDisk } from './services.ts'
import { counted, table } from './show.ts'

/** `first`: the first event that the log still holds; null when it holds none. */
export type LogStatus = Readonly<{
  partition: string
  head: number
  first: Readonly<{ position: number; received_at: string }> | null
}>
export type IndexStatus = Readonly<{
  projection: string
  partition: string
  index: string | null
  position: number
  lag: number | null
  state: 'complete' | 'lacks days' | 'behind' | 'silent' | 'other version' | 'not built' | 'not readable'
  /** When the process that folds it last said so; null where none has since it was made, there is no index, or it cannot be read. */
  heard_at: string | null
  /** Days of which the file of a workspace, or an index in Elasticsearch, is gone. */
  lost_days: number
  /** Of these, the ones whose index in Elasticsearch is there, but closed. */
  closed_days: number
  /** Events that are not in the index, and on which nobody has decided; null where it cannot be read. */
  dead_letters: number | null
  /** Why it could not be read. */
  error: string | null
}>

/** A damaged log that was set aside; figures are null where its report is gone. */
export type QuarantineStatus = Readonly<{
  log: string | null
  /** `damaged`, `older` than its indexes, or what was left `beside` a restored one. */
  kind: string | null
  at: string | null
  folder: string
  reason: string | null
  kept: number | null
  lost: number | null
}>

export const logText = ({ partition, head, first }: LogStatus): string =>
  `Log of partition ${partition} at position ${head}${first === null ? '' : `, kept from ${first.received_at} on`}.`

export const fullText = ({ folder, not, lacks }: FullDisk): string =>
  lacks === 'inodes'
    ? `The disk of ${folder} has no inode left (df -i): no telemetry is ${not} that takes another file. Remove files there.`
    : `The disk of ${folder} is full: no telemetry is ${not}. Free some space${not.includes('folded') ? '; throughline drop BUILD may do' : ''}.`

export function quarantineText({ log, kind, at, folder, reason, kept, lost }: QuarantineStatus): string {
  if (log === null) return `A damaged log lies in ${folder}.`
  const what = log === 'directory' ? 'directory' : 'event log'
  if (kind === 'beside')
    return `What was left of the ${what} before (${reason}) was set aside at ${at}. It lies in ${folder}.`
  const found = kind === 'older' ? 'ended before what its indexes have had of it' : 'was damaged'
  return `The ${what} ${found} (${reason}) and was set aside at ${at}: ${kept} events kept, ${lost} lost. It lies in ${folder}.`
}

const rowOfIndex = ({
  projection,
  partition,
  index,
  position,
  lag,
  state,
  ...rest
}: IndexStatus): readonly string[] => [
  projection,
  partition,
  index ?? '',
  state === 'not readable' ? '' : String(position),
  lag === null ? '' : String(lag),
  state,
  rest.dead_letters === null ? '' : String(rest.dead_letters),
]

/** What to do about the builds that lack days. */
const lostText = (indexes: readonly IndexStatus[]): readonly string[] =>
  indexes.flatMap(({ projection, index, partition, lost_days: lost, closed_days: closed }) => {
    const lacks = (days: number): string => `${index} lacks ${counted(days, 'day')} in partition ${partition}, of which`
    const gone = `${lacks(lost - closed)} files or indices were removed by hand or lost: "throughline rebuild ${projection}" folds them again.`
    const shut = `${lacks(closed)} indices are closed in Elasticsearch: open them again (POST /INDEX/_open).`
    return [...(lost > closed ? [gone] : []), ...(closed > 0 ? [shut] : [])]
  })

/** What it means that readers use builds of another version, as while an upgrade is folded. */
function versionText(indexes: readonly IndexStatus[]): readonly string[] {
  const others = [...new Set(indexes.filter(({ state }) => state === 'other version').map(({ index }) => index))]
  if (others.length === 0) return []
  return [
    `Of another version than this program folds: ${others.join(', ')}. After an upgrade the server folds new builds beside these (see throughline builds); after the way back to an older program, its rollback or rebuild makes them. Until readers use them, answers are not complete.`,
  ]
}

/** It cannot be told from here whether anybody folds them: one long batch, or one that an engine does not take, is silent too. */
function silentText(indexes: readonly IndexStatus[]): readonly string[] {
  const silent = indexes.filter(({ state }) => state === 'silent')
  if (silent.length === 0) return []
  const heard = silent.flatMap(({ heard_at: at }) => at ?? []).toSorted()
  const [first, last] = [heard[0], heard.at(-1)]
  if (first === undefined) return ['Silent: no server has been heard of since they were made.']
  const since = first === last ? first : `between ${first} and ${last}`
  return [
    `Silent: last heard of ${since}. Whatever folds them has stopped, or retries, or is busy with one batch: its standard error says which.`,
  ]
}

/** What is wrong with the indexes that cannot be read; several of them may share it. */
function errorText(indexes: readonly IndexStatus[]): readonly string[] {
  const failed = indexes.filter(({ error }) => error !== null)
  const names = (error: string | null): string =>
    [...new Set(failed.filter((one) => one.error === error).map(({ projection }) => projection))].join(', ')
  return [...new Set(failed.map(({ error }) => error))].map((error) => `Not readable: ${names(error)}: ${error}`)
}

/** A table, and what its states mean. */
export const indexesText = (indexes: readonly IndexStatus[]): readonly string[] => [
  table([['PROJECTION', 'PARTITION', 'INDEX', 'POSITION', 'LAG', 'STATE', 'DEAD LETTERS'], ...indexes.map(rowOfIndex)]),
  ...lostText(indexes),
  ...silentText(indexes),
  ...versionText(indexes),
  ...errorText(indexes),
]
