import type { Difference } from '#projections/builds/compare.ts'
import type { Verdict } from '#projections/builds/verify.ts'
import { counted } from './show.ts'

const textMax = 400

const cut = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)}…` : text)

/** Only the members that differ, with both sides: a document is long, and one character may be wrong. */
function sidesOf({ indexed, expected }: Difference): readonly string[] {
  const names = [...new Set([...Object.keys(indexed ?? {}), ...Object.keys(expected ?? {})])].filter(
    (name) => name !== 'row' && indexed?.[name] !== expected?.[name],
  )
  const side = (of: Difference['indexed'], name: string): string =>
    of?.[name] === undefined ? '(nothing)' : cut(of[name])
  return names.flatMap((name) => [
    `    ${name}`,
    `      in the index  ${side(indexed, name)}`,
    `      by the log    ${side(expected, name)}`,
  ])
}

function whatOf(difference: Difference): string {
  if (difference.kind === 'search') {
    const item = JSON.stringify(difference.item)
    return difference.id === '' ? `searches are misled by ${item}` : `is found wrongly by ${item}`
  }
  if (difference.indexed === undefined) return 'is missing'
  return difference.expected === undefined ? 'should not be there' : 'is not what the log says'
}

function linesOf(difference: Difference): readonly string[] {
  const { workspaceId, day, collection, id } = difference
  const isWhole = difference.kind === 'entry' && (difference.indexed === undefined || difference.expected === undefined)
  return [
    `  ${[workspaceId, day, collection, id].join(' ').trimEnd()}: ${whatOf(difference)}`,
    ...(isWhole ? [] : sidesOf(difference)),
  ]
}

/** From which day on, where the log was cut: most collections from one, those whose documents reach further back from a later one. */
function fromText(comparedFrom: Verdict['comparedFrom']): string {
  const days = Object.entries(comparedFrom ?? {}).toSorted(([, a], [, b]) => (a < b ? -1 : 1))
  const [first] = days
  if (first === undefined) return ''
  const later = days.filter(([, day]) => day > first[1]).map(([collection, day]) => `${collection} from ${day}`)
  return ` Compared from ${[first[1], ...later].join(', ')} on: the log was cut before.`
}

/** The position of the comparison: workspaces may be at different ones. */
function positionText({ position, workspaces }: Verdict): string {
  const places = workspaces.map((of) => of.position).toSorted((a, b) => a - b)
  const [first = position, last = first] = [places[0], places.at(-1)]
  return first === last ? `at position ${first}` : `at positions ${first} to ${last}`
}

/** The partition of a build. `isOneOfMany`: there are others, whose builds have the same names. */
export type Place = Readonly<{ partition: string; isOneOfMany: boolean }>
export type PlacedVerdict = Verdict & Place

export const placedName = (index: string, { partition, isOneOfMany }: Place): string =>
  isOneOfMany ? `${index} of partition ${partition}` : index

/** A verdict for people: one line when all is well, else the first differences with both sides. */
export function verdictText(verdict: PlacedVerdict): string {
  const { equal, workspaces, differences, comparedFrom } = verdict
  const entries = workspaces.reduce((sum, of) => sum + of.entries, 0)
  const different = workspaces.reduce((sum, of) => sum + of.different, 0)
  const compared = `${counted(workspaces.length, 'workspace')}, ${counted(entries, 'entry', 'entries')}`
  const from = fromText(comparedFrom)
  const index = placedName(verdict.index, verdict)
  if (equal) return `${index} is what the log says, ${positionText(verdict)}: ${compared}.${from}`
  const more = different > differences.length ? [`  … and ${different - differences.length} more`] : []
  return [
    `${index} differs from the log at ${counted(different, 'place')}, ${positionText(verdict)}: ${compared}.${from}`,
    ...differences.flatMap(linesOf),
    ...more,
  ].join('\n')
}

export const verdictJson = ({
  projection,
  partition,
  index,
  position,
  equal,
  workspaces,
  differences,
  comparedFrom,
}: PlacedVerdict) => ({
  projection,
  partition,
  index,
  position,
  equal,
  ...(comparedFrom === undefined ? {} : { compared_from: comparedFrom }),
  workspaces: workspaces.map(({ workspaceId, ...of }) => ({ workspace: workspaceId, ...of })),
  differences: differences.map(({ workspaceId, ...difference }) => ({ workspace: workspaceId, ...difference })),
})
