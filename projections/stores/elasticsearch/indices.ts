import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { IndexName } from '../../index-store.ts'
import { numberIn, objectIn, textIn, valuesIn } from './answer-parts.ts'
import { everyOpen, type Elasticsearch } from './call.ts'
import { stateIndex, stateReading, syncing, template, unpiped, type IndexSettings } from './mapping.ts'
import { daysBeside, withoutCopies } from './names.ts'
import type { Place } from './place.ts'
import { forbiddenHint, isBlocked, reasonOf } from './reasons.ts'

/** Prevents our indices from being created automatically, with whatever mapping the first document suggests. */
export async function forbidAutomatic({ elasticsearch, names }: Place): Promise<void> {
  const make = { operation: 'prepare', subject: names.state, method: 'PUT' } as const
  await elasticsearch.send({ ...make, path: `/_index_template/${names.state}`, body: template(names.all) })
}

/** Creates the state index, and what keeps the others from being created automatically. */
export async function prepareState(place: Place, settings: IndexSettings): Promise<void> {
  const { elasticsearch, names } = place
  await forbidAutomatic(place)
  await createIndex(elasticsearch, names.state, stateIndex(settings))
  // Earlier programs had it refreshed each second, and on two nodes. Where this may not be changed, that goes on.
  const change = { operation: 'prepare', subject: names.state, method: 'PUT', accept: [403] } as const
  await elasticsearch.send({ ...change, path: `/${names.state}/_settings`, body: stateReading(settings) })
}

/** As `everyOpen` (call.ts), and closed indices too. */
const everyIndex = { ...everyOpen, expand_wildcards: 'open,closed,hidden' } as const

/** The server's message if its nodes have as many shards as they may. It has no error type of its own. */
const noShardsLeft = /maximum .*shards open/

/**
 * So long is waited for the first shard of a new index. Elasticsearch's own half a minute would hold up all projections of the partition where no node may
 * have it, as while allocation is off for a restart; what is written to it then says so.
 */
const firstShardWait = '5s'

/** Creates an index, unless it exists. */
export async function createIndex(elasticsearch: Elasticsearch, index: string, body: object): Promise<void> {
  const call = { operation: 'create', subject: index, method: 'PUT', path: `/${index}`, body, accept: [400] } as const
  const { status, body: answer } = await elasticsearch.send({ ...call, query: { timeout: firstShardWait } })
  const error = objectIn(answer['error'])
  if (status !== 400 || error['type'] === 'resource_already_exists_exception') return
  const reason = textIn(error['reason'])
  // Transient: an operator, or retention, will make room, or take away what is in the way.
  const hint = noShardsLeft.test(reason)
    ? 'drop builds that are not needed, or raise cluster.max_shards_per_node'
    : 'an index template or an alias of somebody else may be in its way: change or remove that one'
  throw new TransientError({ operation: 'create', subject: index, cause: new Error(reason), hint })
}

/** Removes indices of a build; those that are not there any more too. One that stays for now, as while a snapshot is taken of it, keeps no other. */
export async function removeIndices(
  { elasticsearch }: Place,
  index: IndexName,
  names: Iterable<string>,
): Promise<void> {
  const call = { operation: 'drop', subject: index, method: 'DELETE', accept: [404] } as const
  let failure: TransientError | undefined
  for (const name of names) {
    try {
      await elasticsearch.send({ ...call, path: `/${name}` })
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
}

/** Day indices, each with its UUID; and with that of its history, where it was restored from a snapshot: over a closed one, it keeps the first. */
export type Days = ReadonlyMap<string, string>

const settingsOf = (part: JsonObject): JsonObject => objectIn(objectIn(part['settings'])['index'])
const identityOf = (part: JsonObject): string => {
  const { uuid, history } = settingsOf(part)
  const uuids = [uuid, objectIn(history)['uuid']].map(textIn)
  return uuids.filter((each) => each !== '').join('/')
}
const isLazy = (part: JsonObject): boolean => objectIn(settingsOf(part)['translog'])['durability'] === 'async'
const hasRecovered = ({ primary_terms: terms }: JsonObject): boolean =>
  Object.values(objectIn(terms)).some((term) => numberIn(term) > 1)
const isPiped = (part: JsonObject): boolean => !['', '_none'].includes(textIn(settingsOf(part)['final_pipeline']))

/**
 * The day indices that exist. `recovered`: those of them of which a shard has begun more than once, as after a restart of its node. `closed`: that
 * answer no search, and that a search by a wildcard passes over. `lazy`: that somebody has told not to sync before they answer; `piped`: to have a
 * pipeline change what is written, or drop it. `aliased`: that have an alias. `beside`: what is no day, such as a copy of one.
 */
export type StoredDays = Readonly<{
  days: Days
  recovered: readonly string[]
  closed: readonly string[]
  lazy: readonly string[]
  piped: readonly string[]
  aliased: readonly string[]
  beside: readonly string[]
}>

export const noDays: StoredDays = {
  days: new Map(),
  recovered: [],
  closed: [],
  lazy: [],
  piped: [],
  aliased: [],
  beside: [],
}

/** The indices that a wildcard names, as the master knows them: another node may be behind it. */
export async function listIndices(
  elasticsearch: Elasticsearch,
  wildcard: string,
  isDay: (name: string) => boolean,
  subject = wildcard,
): Promise<StoredDays> {
  const own = ['uuid', 'history.uuid', 'translog.durability', 'final_pipeline']
  const settings = own.map((name) => `settings.index.${name}`)
  const parts = [...settings, 'state', 'aliases', 'primary_terms'].map((part) => `metadata.indices.*.${part}`)
  const { body } = await elasticsearch.send({
    operation: 'look for',
    subject,
    method: 'GET',
    path: `/_cluster/state/metadata/${wildcard}`,
    query: { filter_path: parts.join(), ...everyIndex },
  })
  const indices = objectIn(objectIn(body['metadata'])['indices'])
  const all = Object.keys(indices).sort()
  const names = all.filter(isDay)
  const partOf = (name: string): JsonObject => objectIn(indices[name])
  const having = (test: (part: JsonObject) => boolean): readonly string[] => names.filter((name) => test(partOf(name)))
  return {
    days: new Map(names.map((name) => [name, identityOf(partOf(name))])),
    recovered: having(hasRecovered),
    closed: having(({ state }) => state === 'close'),
    lazy: having(isLazy),
    piped: having(isPiped),
    aliased: having(({ aliases }) => valuesIn(aliases).length > 0),
    beside: all.filter((name) => !isDay(name)),
  }
}

/**
 * Sets back what somebody has set, so that something may be missing behind a checkpoint that says otherwise: what Elasticsearch has not synced when it
 * crashes, or what a pipeline drops. Returns those that are set back: one that is blocked takes neither a setting nor a document.
 */
export async function setBack(
  { elasticsearch }: Place,
  { lazy, piped }: Pick<StoredDays, 'lazy' | 'piped'>,
): Promise<readonly string[]> {
  const done: string[] = []
  for (const name of new Set([...lazy, ...piped])) {
    const call = { operation: 'set back', subject: name } as const
    const { status, body } = await elasticsearch.send({
      ...call,
      method: 'PUT',
      path: `/${name}/_settings`,
      query: everyIndex,
      body: { ...syncing, ...unpiped },
      accept: [403],
    })
    const reason = reasonOf(body)
    if (status === 403 && isBlocked(reason)) continue
    if (status === 403) throw new TransientError({ ...call, hint: forbiddenHint, cause: new Error(reason) })
    // What it has taken in before is not synced by that.
    if (lazy.includes(name))
      await elasticsearch.send({ ...call, method: 'POST', path: `/${name}/_flush`, query: everyOpen })
    done.push(name)
  }
  return done
}

/**
 * Those of some days that searches pass over. Without security Elasticsearch leaves out not only the copies of a day (names.ts), but also what an
 * alias leads to that is named like one. It names here what it would search.
 */
export async function passedOver(
  { elasticsearch }: Place,
  { aliased, closed }: Pick<StoredDays, 'aliased' | 'closed'>,
): Promise<readonly string[]> {
  const asked = aliased.filter((name) => !closed.includes(name))
  const searched = new Set<string>()
  for (const days of new Set(asked.map(daysBeside))) {
    const call = { operation: 'look for', subject: days, method: 'GET' } as const
    const query = { ...everyOpen, filter_path: '*.settings.index.uuid' }
    const { body } = await elasticsearch.send({ ...call, path: `/${withoutCopies(days)}/_settings/index.uuid`, query })
    for (const name of Object.keys(body)) searched.add(name)
  }
  return asked.filter((name) => !searched.has(name))
}

/** A build's existing day indices. */
export const listDayIndices = ({ elasticsearch, names }: Place, index: IndexName): Promise<StoredDays> =>
  listIndices(elasticsearch, names.build(index), (name) => names.isDay(index, name), index)

/**
 * Whether all indices that a wildcard names may be read. One that the user may not read is passed over without a word, as if it were not there. The list
 * of indices needs another right. `shards`: how many answered; an index has at least one.
 */
export const areAllRead = ({ days, closed }: StoredDays, shards: number): boolean => shards >= days.size - closed.length

/** Why not: it may pass, as while a role is changed. */
export const notRead = (operation: string, subject: string): TransientError =>
  new TransientError({
    operation,
    subject,
    hint: forbiddenHint,
    cause: new Error('not all of its indices may be read'),
  })
