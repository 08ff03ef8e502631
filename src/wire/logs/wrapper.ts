import type { JsonRange } from '#src/lib/json-bytes.ts'
import { isLevelName, isMessageName, lokiList, namesOfOneThing, otlpLists, wrapperNames } from './aliases.ts'

/** A member of an object or map: its name, the range of name and value together, and the range of the value. */
export type Member = Readonly<{
  name: string
  whole: JsonRange
  value: JsonRange
  isList: boolean
  /** The value is null, an empty text or an empty list, so it says nothing. */
  isEmpty: boolean
  /** Of the value: its nesting depth, and the number of values in it, itself included. */
  depth: number
  values: number
}>

/** A body that is not a record, but holds a list of them. */
export type Wrapper = Readonly<{
  list: JsonRange
  /** The members beside the list. They apply to each record that does not say the same itself. */
  beside: readonly Member[]
  /** Two of the lists hold records. */
  isAmbiguous: boolean
  /** If set, the body may be a record with a list: it is a wrapper only if the condition holds for each value in the list. */
  condition?: Condition | undefined
}>

/** `isRead`: the names of the record's members that `holds` needs. */
type Condition = Readonly<{ isRead(name: string): boolean; holds(record: readonly Member[]): boolean }>

/** A wrapper has few members beside its records; an object with more than this is not examined further. */
const wrapperMembersMax = 64

/** Collects the members of an object. A repeated one replaces the earlier, as in JSON.parse. */
export function createMembers() {
  const members = new Map<string, Member>()
  let count = 0
  let isRecord = false
  return {
    /** False if the object is a record because of this name, or of the number of members: the rest need not be read. */
    mayWrap: (name: string): boolean => {
      isRecord ||= isMessageName(name) || ++count > wrapperMembersMax
      return !isRecord
    },
    add: (member: Member) => void members.set(member.name, member),
    all: (): readonly Member[] => (isRecord ? [] : [...members.values()]),
  }
}

/** Whether a record has a message. */
export const isTelling = (members: readonly Member[]): boolean =>
  members.some(({ name, isEmpty }) => !isEmpty && isMessageName(name))

/** A body with a level beside its list looks like a record that has a list. It is a wrapper if the values in the list have messages. */
const tellsMessage: Condition = { isRead: isMessageName, holds: isTelling }

const says = (members: readonly Member[], wanted: string): boolean =>
  members.some(({ name, isEmpty }) => name === wanted && !isEmpty)

const hasAllOf = (names: readonly string[]): Condition => ({
  isRead: (name) => names.includes(name),
  holds: (members) => names.every((wanted) => says(members, wanted)),
})

/** Names of Azure's common schema. Its services leave out some of them: Defender has no resource, Application Gateway no `timeStamp`. */
const azureNames: readonly string[] = ['time', 'timeStamp', 'resourceId', 'category', 'operationName']
const azureNamesMin = 2
const isOfAzure: Condition = {
  isRead: (name) => azureNames.includes(name),
  holds: (members) => azureNames.filter((name) => says(members, name)).length >= azureNamesMin,
}

/** Mezmo's lines may be empty. Without an app or a file, collectors.ts would not read the line, and it would not be Mezmo's. */
const namesOfMezmo: readonly string[] = ['line', 'timestamp', 'app', 'file']
const isOfMezmo: Condition = {
  isRead: (name) => namesOfMezmo.includes(name),
  holds: (members) =>
    members.some(({ name }) => name === 'line') &&
    says(members, 'timestamp') &&
    members.some(({ name }) => name === 'app' || name === 'file'),
}

/** An audit event of Kubernetes, or an event of an object. */
const ofKubernetes: readonly Condition[] = [hasAllOf(['auditID', 'stage']), hasAllOf(['involvedObject', 'reason'])]
const isOfKubernetes: Condition = {
  isRead: (name) => ofKubernetes.some((each) => each.isRead(name)),
  holds: (members) => ofKubernetes.some((each) => each.holds(members)),
}

/**
 * A wrapper of a cloud service. Others use these names too, so it only counts with the members of `beside` next to the list, or with none if `beside`
 * is empty, and if each record meets the condition. What is `ofList` says nothing of a record.
 */
type WrapperOfCloud = Readonly<{
  list: string
  beside: readonly string[]
  ofList?: readonly string[]
  condition: Condition
}>
const wrappersOfClouds: readonly WrapperOfCloud[] = [
  // Azure's diagnostic logs, as Event Hubs forward them
  { list: 'records', beside: [], condition: isOfAzure },
  // AWS CloudTrail: a file or a notification
  { list: 'Records', beside: [], condition: hasAllOf(['eventTime', 'eventSource']) },
  // AWS CloudWatch subscriptions
  { list: 'logEvents', beside: ['logGroup', 'logStream'], condition: hasAllOf(['timestamp', 'message']) },
  // Mezmo, formerly LogDNA: its loggers, with the kind of request beside the list; its agent
  { list: 'ls', beside: ['e'], condition: isOfMezmo },
  { list: 'lines', beside: [], condition: isOfMezmo },
  // Kubernetes: its audit webhook, and what kubectl prints
  {
    list: 'items',
    beside: ['kind', 'apiVersion'],
    ofList: ['kind', 'apiVersion', 'metadata'],
    condition: isOfKubernetes,
  },
]

function wrapperOfCloud(members: readonly Member[]): Wrapper | undefined {
  for (const { list: wanted, beside: told, ofList = [], condition } of wrappersOfClouds) {
    const list = members.find(({ name, isList }) => isList && name === wanted)
    const others = members.filter((member) => member !== list)
    const isAlike =
      told.length === 0 ? others.length === 0 : told.every((each) => others.some(({ name }) => name === each))
    const beside = others.filter(({ name }) => !ofList.includes(name))
    if (list !== undefined && isAlike) return { list: list.value, beside, isAmbiguous: false, condition }
  }
  return undefined
}

const isLevelled = (members: readonly Member[]): boolean => members.some(({ name }) => isLevelName(name))

/** The wrapper that these members are. Its records are in the first non-empty list, or in the first if all are empty. Undefined: it is no wrapper. */
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

/** The list that shows the members to be a request of another protocol; undefined if there is none. */
export const foreignListOf = (members: readonly Member[]): string | undefined =>
  isLevelled(members) ? undefined : members.find((member) => isForeign(member, members.length))?.name

/** Loki's streams are objects with lists of lines, each a list itself. A record may have a shallower list of that name. */
const lokiDepthMin = 4

function isForeign({ name, isList, depth }: Member, count: number): boolean {
  if (!isList) return false
  return otlpLists.includes(name) || (name === lokiList && count === 1 && depth >= lokiDepthMin)
}

/** The kinds of thing that a name gives, by index in `namesOfOneThing`. A name that others are nested in gives all of theirs. */
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
  /** Whether a member of this name in a record may give the same as one beside the list. */
  isRelated(name: string): boolean
  /**
   * The members beside the list that apply to a record with these members; only related ones need be given. Returns the same array for records with
   * the same names.
   */
  of(own: readonly Member[]): readonly Member[]
}>

const isSame = (some: ReadonlySet<string>, others: ReadonlySet<string>): boolean =>
  some.size === others.size && some.values().every((name) => others.has(name))

/** Finds which members beside the list apply to a record: not those that the record gives itself, under any name. */
export function createUnsaid(beside: readonly Member[]): Unsaid {
  const namesBeside = new Set(beside.map(({ name }) => name))
  const unsaidBy = (names: ReadonlySet<string>): readonly Member[] => {
    const things = new Set([...names].flatMap((name) => [...thingsOf(name)]))
    return beside.filter(({ name }) => !names.has(name) && ![...thingsOf(name)].some((thing) => things.has(thing)))
  }
  /**
   * The result for the previous record, which mostly has the same names. Without it, each small record would cost as much as the members beside the
   * list.
   */
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
