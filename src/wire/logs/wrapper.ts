import type { JsonRange } from '#src/lib/json-bytes.ts'
import { isLevelName, isMessageName, lokiList, namesOfOneThing, otlpLists, wrapperNames } from './aliases.ts'

/** A member of an object or map: what it is called, where it stands with its name, and where its value does. */
export type Member = Readonly<{
  name: string
  whole: JsonRange
  value: JsonRange
  isList: boolean
  /** Null, an empty text or an empty list: nothing is said by it. */
  isEmpty: boolean
  /** Of its value: how deep it is nested, and the values in it, itself included. */
  depth: number
  values: number
}>

/** A body that is no record but holds a list of them. */
export type Wrapper = Readonly<{
  list: JsonRange
  /** What stands beside the list, and holds for each record that does not say it itself. */
  beside: readonly Member[]
  /** Two of its lists hold records. */
  isAmbiguous: boolean
  /** It may be a record that has a list: it is a wrapper only if this holds for each in the list. */
  condition?: Condition | undefined
}>

/** `isRead`: of a record only the members of these names are looked at. */
type Condition = Readonly<{ isRead(name: string): boolean; holds(record: readonly Member[]): boolean }>

/** A wrapper has little beside its records; what has more members is not looked at further. */
const wrapperMembersMax = 64

/** Collects the members of an object, of which a repeated one replaces the earlier, as JSON.parse has it. */
export function createMembers() {
  const members = new Map<string, Member>()
  let count = 0
  let isRecord = false
  return {
    /** False: it is a record by this name, or by how many it has, and the others say nothing more. */
    mayWrap: (name: string): boolean => {
      isRecord ||= isMessageName(name) || ++count > wrapperMembersMax
      return !isRecord
    },
    add: (member: Member) => void members.set(member.name, member),
    all: (): readonly Member[] => (isRecord ? [] : [...members.values()]),
  }
}

/** Whether a record tells a message. */
export const isTelling = (members: readonly Member[]): boolean =>
  members.some(({ name, isEmpty }) => !isEmpty && isMessageName(name))

/** With a level beside its list it is like a record that has a list, and wraps records that tell messages. */
const tellsMessage: Condition = { isRead: isMessageName, holds: isTelling }

const says = (members: readonly Member[], wanted: string): boolean =>
  members.some(({ name, isEmpty }) => name === wanted && !isEmpty)

const hasAllOf = (names: readonly string[]): Condition => ({
  isRead: (name) => names.includes(name),
  holds: (members) => names.every((wanted) => says(members, wanted)),
})

/** Of Azure's common schema, whose services leave out one thing or another: Defender has no resource, Application Gateway a `timeStamp`. */
const azureNames: readonly string[] = ['time', 'timeStamp', 'resourceId', 'category', 'operationName']
const azureNamesMin = 2
const isOfAzure: Condition = {
  isRead: (name) => azureNames.includes(name),
  holds: (members) => azureNames.filter((name) => says(members, name)).length >= azureNamesMin,
}

/** A line may be empty. Without an app or a file it would not be read as one (collectors.ts), nor would it be Mezmo's. */
const namesOfMezmo: readonly string[] = ['line', 'timestamp', 'app', 'file']
const isOfMezmo: Condition = {
  isRead: (name) => namesOfMezmo.includes(name),
  holds: (members) =>
    members.some(({ name }) => name === 'line') &&
    says(members, 'timestamp') &&
    members.some(({ name }) => name === 'app' || name === 'file'),
}

/**
 * How clouds wrap logs: names that others use too, so only where these stand beside the list, or nothing does if none is named, and where each record
 * says what theirs do.
 */
const wrappersOfClouds: readonly Readonly<{ list: string; beside: readonly string[]; condition: Condition }>[] = [
  // Azure's diagnostic logs, as Event Hubs give them on
  { list: 'records', beside: [], condition: isOfAzure },
  // AWS's CloudTrail, a file or what is told of one
  { list: 'Records', beside: [], condition: hasAllOf(['eventTime', 'eventSource']) },
  // AWS's CloudWatch, to those who subscribe
  { list: 'logEvents', beside: ['logGroup', 'logStream'], condition: hasAllOf(['timestamp', 'message']) },
  // Mezmo, which was LogDNA: its loggers, beside the kind of the request; its agent
  { list: 'ls', beside: ['e'], condition: isOfMezmo },
  { list: 'lines', beside: [], condition: isOfMezmo },
]

function wrapperOfCloud(members: readonly Member[]): Wrapper | undefined {
  for (const { list: wanted, beside: told, condition } of wrappersOfClouds) {
    const list = members.find(({ name, isList }) => isList && name === wanted)
    const beside = members.filter((member) => member !== list)
    const isAlike =
      told.length === 0 ? beside.length === 0 : told.every((each) => beside.some(({ name }) => name === each))
    if (list !== undefined && isAlike) return { list: list.value, beside, isAmbiguous: false, condition }
  }
  return undefined
}

const isLevelled = (members: readonly Member[]): boolean => members.some(({ name }) => isLevelName(name))

/** The wrapper of these members: its first list that holds something is that of the records, else its first. Undefined: it is none. */
export function wrapperOf(members: readonly Member[]): Wrapper | undefined {
  const lists = wrapperNames.flatMap((wanted) => members.filter(({ name, isList }) => isList && name === wanted))
  const filled = lists.filter(({ isEmpty }) => !isEmpty)
  const list = filled[0] ?? lists[0]
  if (list === undefined) return wrapperOfCloud(members)
  const beside = members.filter((member) => !lists.includes(member))
  const condition = isLevelled(members) ? tellsMessage : undefined
  return { list: list.value, beside, isAmbiguous: filled.length > 1, condition }
}

export const hasBeside = (wrapper: Wrapper | undefined): boolean => wrapper !== undefined && wrapper.beside.length > 0

/** The list by which members are those of a request of another protocol. */
export const foreignListOf = (members: readonly Member[]): string | undefined =>
  isLevelled(members) ? undefined : members.find((member) => isForeign(member, members.length))?.name

/** Streams are a list of objects with lists of lines, each a list itself; a record may have a simpler list of that name. */
const lokiDepthMin = 4

function isForeign({ name, isList, depth }: Member, count: number): boolean {
  if (!isList) return false
  return otlpLists.includes(name) || (name === lokiList && count === 1 && depth >= lokiDepthMin)
}

/** What each name tells, by number; one that others are nested in tells what they do. */
const thingsByName = new Map<string, Set<number>>()
for (const [thing, names] of namesOfOneThing.entries()) {
  for (const name of names) {
    const parts = name.split('.')
    for (let count = 1; count <= parts.length; count++) {
      const outer = parts.slice(0, count).join('.')
      thingsByName.set(outer, (thingsByName.get(outer) ?? new Set<number>()).add(thing))
    }
  }
}
const nothing: ReadonlySet<number> = new Set()
const thingsOf = (name: string): ReadonlySet<number> => thingsByName.get(name) ?? nothing

type Unsaid = Readonly<{
  /** Whether what a record says by this name may be what stands beside it too. */
  isRelated(name: string): boolean
  /** What holds for a record of these members, of which those that are not related do not matter. The same list for records that say the same names. */
  of(own: readonly Member[]): readonly Member[]
}>

const isSame = (some: ReadonlySet<string>, others: ReadonlySet<string>): boolean =>
  some.size === others.size && some.values().every((name) => others.has(name))

/** What holds for a record of what stands beside it: what it says itself, by whatever name, is its own. */
export function createUnsaid(beside: readonly Member[]): Unsaid {
  const namesBeside = new Set(beside.map(({ name }) => name))
  const unsaidBy = (names: ReadonlySet<string>): readonly Member[] => {
    const things = new Set([...names].flatMap((name) => [...thingsOf(name)]))
    return beside.filter(({ name }) => !names.has(name) && ![...thingsOf(name)].some((thing) => things.has(thing)))
  }
  /** Of the record before, which mostly says the same names: looked for again, it would take as long for a small body as a large one. */
  let last = { names: new Set<string>(), unsaid: beside }
  return {
    isRelated: (name) => namesBeside.has(name) || thingsByName.has(name),
    of: (own) => {
      const names = new Set(own.filter(({ isEmpty }) => !isEmpty).map(({ name }) => name))
      if (!isSame(names, last.names)) last = { names, unsaid: unsaidBy(names) }
      return last.unsaid
    },
  }
}
