import { counted, table } from './show.ts'
import type { IndexStatus, LogStatus, QuarantineStatus } from './status.ts'

export const logText = ({ partition, head, first }: LogStatus): string =>
  `Log of partition ${partition} at position ${head}${first === null ? '' : `, kept from ${first.received_at} on`}.`

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

/** Whether nobody folds them cannot be told from here: one long batch, or one that an engine does not take, is as silent. */
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
