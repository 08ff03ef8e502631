import { PermanentError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { TooBroadError } from '../../index-store.ts'
import { objectIn } from './answer-parts.ts'
import { everyOpen, nearest, type Elasticsearch } from './call.ts'
import { daysQuery, type Query } from './filter.ts'
import { areAllRead, listIndices, notRead } from './indices.ts'
import { isOneOf, withoutCopies } from './names.ts'
import { sendPatiently } from './patience.ts'
import {
  forbiddenPatternHint,
  isForbiddenPattern,
  isLoweredLimit,
  loweredLimitHint,
  mappingHint,
  reasonOf,
} from './reasons.ts'
import type { SeenSizes } from './seen-sizes.ts'
import type { Bound } from './sized-parts.ts'

/** Where to search: a workspace in the days of one collection of the live build. */
export type Target = Readonly<{
  elasticsearch: Elasticsearch
  indices: string
  workspaceId: WorkspaceId
  /** The first visible day; undefined: all are. */
  fromDay: string | undefined
  /** How large documents were lately, by `targetKey`. */
  seen: SeenSizes
}>

/** What leaves out the days before the first visible one, beside other conditions. */
export const visibleDays = ({ indices, fromDay }: Target): readonly Query[] =>
  fromDay === undefined ? [] : [daysQuery(indices.slice(0, -1), fromDay)]

/** Under which the sizes of a target's documents are remembered. */
export const targetKey = ({ indices, workspaceId }: Target): string => `${indices} ${workspaceId}`

/** A phrase that ends in a prefix expands to all such words of all workspaces, up to the server's maximum of clauses. */
export class TooManyWordsError extends TooBroadError {}

const tooManyTerms = /maxClauseCount|too_many_(nested_)?clauses/

/** The automaton of an expression is too large, or the expression is too long. */
const tooComplex = /Determinizing|max_regex_length/

/** An index that was made by its first document, and not by us, as after it and the template were removed. */
const madeByOthers = /Fielddata is disabled|No mapping found/

type Searched = Pick<Target, 'elasticsearch' | 'indices' | 'workspaceId'>

/** Runs one search. If a shard cannot answer, or no index may be read, all of it fails. */
export async function ask(searched: Searched, body: object, bound?: Bound): Promise<JsonObject> {
  const { elasticsearch, indices } = searched
  for (let tries = 1; ; tries++) {
    const answer = await askOnce(searched, body, bound)
    const { total } = objectIn(answer['_shards'])
    if (total !== 0) return answer
    // As they are listed: an alias that is named like a copy of a day hides that day from a search where there is no security.
    const stored = await listIndices(elasticsearch, indices, (name) => isOneOf(indices, name))
    if (areAllRead(stored, total)) return answer
    // The first index may have been made just now.
    if (tries === 2) throw notRead('search', indices)
  }
}

async function askOnce(
  { elasticsearch, indices, workspaceId }: Searched,
  body: object,
  bound: Bound = {},
): Promise<JsonObject> {
  const call = {
    operation: 'search',
    subject: indices,
    method: 'POST',
    path: `/${withoutCopies(indices)}/_search`,
    query: { ...nearest, routing: workspaceId, ...everyOpen, allow_partial_search_results: false },
    body,
    ...bound,
    accept: [400, 404],
  } as const
  // 404: one of the indices was dropped just now.
  const answer = await sendPatiently(elasticsearch, call, ({ status }) => status !== 404)
  if (answer.status === 400) throw refusalOf(indices, reasonOf(answer.body))
  return answer.body
}

function refusalOf(indices: string, reason: string): Error {
  if (tooManyTerms.test(reason)) return new TooManyWordsError('the beginning of a phrase meets too many words')
  if (tooComplex.test(reason)) return new TooBroadError('the pattern is too complex')
  const refusal = { operation: 'search', subject: indices, cause: new Error(reason) }
  if (isLoweredLimit(reason)) return new PermanentError({ ...refusal, hint: loweredLimitHint })
  if (isForbiddenPattern(reason)) return new PermanentError({ ...refusal, hint: forbiddenPatternHint })
  return new PermanentError({ ...refusal, ...(madeByOthers.test(reason) ? { hint: mappingHint } : {}) })
}
