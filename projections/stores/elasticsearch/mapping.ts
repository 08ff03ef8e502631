import { PermanentError } from '#src/lib/failure.ts'
import type { CollectionShape } from '../row.ts'

/**
 * Fields of an indexed document. Unmapped ones are kept in `_source` only: the body (one string, so that its digits and
 * surrogates stay as they are), the log's epoch, the position that made it.
 */
export const timeField = 't'
export const positionField = 'p'
export const idField = 'i'
/** The workspace. `_routing` holds it too, but cannot be listed. */
export const workspaceField = 'w'
export const bodyField = 'b'
export const epochField = 'e'
export const createdField = 'c'
/** All values of all keyword and id fields as terms (stores/row.ts: keywordTerm). */
export const keywordsField = 'k'
export const countedField = (field: string): string => `k_${field}`
export const numberField = (field: string): string => `n_${field}`
export const tokensField = (field: string): string => `x_${field}`

type Property = Readonly<Record<string, string | boolean>>

const long: Property = { type: 'long' }
/** Searched, never counted or sorted by. */
const terms: Property = { type: 'keyword', doc_values: false }
/** Counted or sorted by, never searched. */
const values: Property = { type: 'keyword', index: false }
/** Split at blanks only, as in the other stores; with positions, for phrases; not ranked, so without norms. */
const tokens: Property = { type: 'text', analyzer: 'whitespace', norms: false, index_options: 'positions' }

function properties(collection: CollectionShape): Readonly<Record<string, Property>> {
  const all: Record<string, Property> = {
    [timeField]: long,
    [positionField]: long,
    [idField]: values,
    [workspaceField]: values,
  }
  const { name, fields } = collection
  for (const [field, kind] of Object.entries(fields)) {
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(field)) {
      throw new PermanentError({ operation: 'lay out', subject: `collection ${name}, ${field}` })
    }
    if (kind === 'number') all[numberField(field)] = long
    if (kind === 'tokens') all[tokensField(field)] = tokens
    if (kind === 'keyword' || kind === 'id') all[keywordsField] = terms
    if (kind === 'keyword') all[countedField(field)] = values
  }
  return all
}

/** Settings of a day's index. */
export type IndexSettings = Readonly<{
  shards: number
  /** Undefined: one copy as soon as there are two nodes. */
  replicas: number | undefined
}>

export const defaultSettings: IndexSettings = { shards: 1, replicas: undefined }

const replicas = ({ replicas: count }: IndexSettings): Readonly<Record<string, string | number>> =>
  count === undefined ? { auto_expand_replicas: '0-1' } : { number_of_replicas: count }

/** What somebody else's template might set for our indices too: a pipeline may change or drop what we write, and wildcards pass over what is hidden. */
export const unpiped = { final_pipeline: '_none' } as const
const ownDocuments = { default_pipeline: '_none', ...unpiped, hidden: false }
/** The same: documents are kept as sent, not sorted nor put together from fields, and values of any length are found (2^31 - 1, the default). */
const ownForm = { mode: 'standard', 'mapping.source.mode': 'stored', 'mapping.ignore_above': 2_147_483_647 }
/** Elasticsearch syncs before it answers, whatever a template says. */
export const syncing = { 'translog.durability': 'request' } as const
/** The same: documents are indexed and kept. */
const kept = { enabled: true, _source: { enabled: true } }

/**
 * The index of one collection and day. `refresh_interval`: the writer refreshes, and tells readers after it (refresh.ts).
 * `gc_deletes`: how long a deletion is remembered against an older write that comes late. `max_regex_length`: of a pattern as
 * lucene-regex.ts writes it.
 */
export function dayIndex(collection: CollectionShape, settings: IndexSettings): object {
  return {
    settings: {
      number_of_shards: settings.shards,
      ...replicas(settings),
      refresh_interval: '-1',
      gc_deletes: '10m',
      codec: 'best_compression',
      max_regex_length: 100_000,
      ...syncing,
      'mapping.coerce': false,
      ...ownDocuments,
      ...ownForm,
    },
    mappings: {
      dynamic: false,
      ...kept,
      _routing: { required: true },
      properties: properties(collection),
    },
  }
}

/**
 * Builds and rosters are found by id, refreshed or not, and who lists them refreshes first (records.ts). Where days have copies, each of five nodes has one of these:
 * a node that stood still knows for seconds only its own, and would answer from old days beside the progress of another node, as if nothing were missing.
 */
export const stateReading = ({ replicas: count }: IndexSettings): Readonly<Record<string, string>> => ({
  refresh_interval: '-1',
  ...(count === 0 ? {} : { auto_expand_replicas: '0-4' }),
})

export function stateIndex(settings: IndexSettings): object {
  return {
    settings: {
      number_of_shards: 1,
      ...(settings.replicas === 0 ? replicas(settings) : {}),
      ...stateReading(settings),
      ...syncing,
      ...ownDocuments,
      ...ownForm,
    },
    mappings: { dynamic: false, ...kept, properties: { kind: terms, projection: terms } },
  }
}

/**
 * Prevents automatic creation of our indices: a write to an index that was just dropped must not create it again without a mapping. The priority depends on
 * the pattern's length, for two installations `a-*` and `a-b-*` on one server.
 */
export const template = (pattern: string): object => ({
  index_patterns: [pattern],
  priority: 1_000 + pattern.length,
  allow_auto_create: false,
  template: {},
})
