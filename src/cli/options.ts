import type { Refused } from '#src/directory/directory-writer.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok, type Result } from '#src/lib/result.ts'
import { unknownWorkspace } from './refusals.ts'
import { UsageError, type Given, type VerbContext } from './verb.ts'

/** The text of an option that must be given. */
export function required({ options }: Given, name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is missing`)
  return value
}

export function optional({ options }: Given, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** All values of an option that may be given several times. */
export function repeated({ options }: Given, name: string): readonly string[] {
  const value = options[name]
  return Array.isArray(value) ? value.map(String) : []
}

/** A workspace by name or id; an erased one by its id only. Undefined if there is none. */
export async function workspaceNamed(context: VerbContext, name: string): Promise<WorkspaceId | undefined> {
  const directory = await context.directory()
  return directory.workspaceNamed(name)?.id ?? directory.erasedWorkspaces().find(({ id }) => id === name)?.id
}

/** The workspace that `--workspace` names, by `find`; undefined when it is not given. */
export async function workspaceOption(
  given: VerbContext,
  find = workspaceNamed,
): Promise<Result<WorkspaceId | undefined, Refused>> {
  const name = optional(given, 'workspace')
  const id = name === undefined ? undefined : await find(given, name)
  return name !== undefined && id === undefined ? unknownWorkspace(name) : ok(id)
}

/** A position in the log: of one partition, as acknowledgements show it (`0/4096`), or of each partition (`4096`). */
export type GivenPosition = Readonly<{ partition: string | undefined; position: number }>

/** Undefined when the text is no position. */
export function parsePosition(text: string): GivenPosition | undefined {
  const [, partition, digits] = /^(?:(\d+)\/)?(\d{1,15})$/.exec(text) ?? []
  return digits === undefined ? undefined : { partition, position: Number(digits) }
}

/** Whether a position applies to a partition. */
export const concerns = ({ partition }: GivenPosition, other: string | undefined): boolean =>
  partition === undefined || partition === other

/** Throws UsageError if the position is of another partition than these: it would leave out nothing. */
export function checkPartition(given: GivenPosition | undefined, partitions: readonly string[], option: string): void {
  const partition = given?.partition
  if (partition === undefined || partitions.includes(partition)) return
  throw new UsageError(`--${option}: partition ${partition} is none of those meant: ${partitions.join(', ')}`)
}

export function positionOption(given: Given, name: string): GivenPosition | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const position = parsePosition(text)
  if (position === undefined) throw new UsageError(`--${name} is a position, such as 0/4096`)
  return position
}

/** Only what people take for a number: to JavaScript, `0x1` is one too. */
const isDecimal = (text: string): boolean => /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(text)

/** A positive number. */
export function numberOption(given: Given, name: string, max: number): number | undefined {
  const text = optional(given, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (!isDecimal(text) || !Number.isFinite(value) || value <= 0 || value > max) {
    throw new UsageError(`--${name} is a number above 0${max === Number.MAX_VALUE ? '' : `, at most ${max}`}`)
  }
  return value
}
