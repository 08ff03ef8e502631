import type { Context } from 'koa'
import type { Refusal } from '#src/events/refusal.ts'
import type { Route } from '#src/http/route.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { LogSearchAnswer } from '#src/query/searches.ts'
import { reopenScript } from '../../assets.ts'
import { counted, inWords, sendSessionPage, sessionHere, type AppContext } from '../../context.ts'
import { checkbox, choice } from '../../fields.ts'
import { timeAndZone } from '../../format.ts'
import { html, type Html } from '../../html.ts'
import { addressWith, withConditions } from '../conditions.ts'
import { facetRow } from '../facets.ts'
import { createLogForm, logFacets } from '../log-form.ts'
import { patternsOf, type Pattern } from './log-patterns.ts'
import { exampleOf, shapeOf } from './message-shape.ts'
import { meantBy } from '../meant/meant.ts'
import { createNarrow } from '../narrow.ts'
import { clauseOfPattern, clauseWithout, sayableOf } from './pattern-clause.ts'
import { patternTable, type Said, type ShownPattern } from './pattern-rows.ts'
import { rangeMoves } from '../range-moves.ts'
import { readAsked, searchOf, type Asked } from '../asked.ts'
import { about, nothingFits } from '../beside-results.ts'
import { searchRoute } from '../refused-search.ts'

const path = '/app/patterns'

/** Limits of reading: records, pages of the search, and the time, ms, after which no further page is begun. */
const recordsReadMax = 2_000
const pagesReadMax = 4
const readingMs = 2_000
const pageRecordsMax = 1_000
const patternsShownMax = 100

const orders = [
  ['', 'the newest'],
  ['asc', 'the oldest'],
] as const

/** Conditions of the list of logs, which the patterns do not use. */
const ofList = { around: null, before: null, after: null, fields: null, limit: null, include: null }

/** The conditions of the search, without those of the list. */
const readHere = (ctx: Context, app: Pick<AppContext, 'directory'>): Asked => {
  const asked = readAsked(ctx, app)
  return { ...asked, conditions: withConditions(asked.conditions, ofList), cursors: [] }
}

const isRarestFirst = (conditions: URLSearchParams): boolean => conditions.get('first') === 'rarest'

/** The log search of the page. An unknown value of `first` stays, so that the search refuses it. */
const searched = (conditions: URLSearchParams): URLSearchParams =>
  isRarestFirst(conditions) ? withConditions(conditions, { first: null }) : conditions

const formOf = createLogForm({
  path,
  orderOf: (conditions) => {
    const order = choice({ label: 'Read', name: 'order', value: conditions.get('order') ?? '', options: orders })
    return html`${order}${checkbox('first', 'rarest', 'rarest first', isRarestFirst(conditions))}`
  },
  more: ['first'],
})

type Read = Readonly<{ said: readonly Said[]; isAll: boolean; first: LogSearchAnswer }>

/** Keeps only what patterns need: pages of whole records are large. */
const saidBy = (log: LogSearchAnswer['logs'][number]): Said => {
  const { id, timestamp, level, service, message } = log
  const of = { shape: shapeOf(message), example: exampleOf(message), ...sayableOf(message) }
  return { id, timestamp, level, service, ...of }
}

/** The records that the search finds, in its order, page by page; or the refusal of the search. */
async function readSaid(ctx: Context, app: AppContext, asked: Asked): Promise<Result<Read, Refusal>> {
  const { workspaceId } = sessionHere(ctx)
  const conditions = searched(asked.conditions)
  const began = app.clock()
  const said: Said[] = []
  let first: LogSearchAnswer | undefined
  let cursors: readonly string[] = []
  for (let page = 1; ; page++) {
    const include: Readonly<Record<string, string>> = first === undefined ? { include: 'count,facets' } : {}
    const limit = String(Math.min(pageRecordsMax, recordsReadMax - said.length))
    const result = await app.searches.logs(
      workspaceId,
      searchOf({ ...asked, conditions, cursors }, { limit, ...include }),
    )
    if (!result.ok) return result
    const { logs, next_cursor: next } = result.value
    said.push(...(await mapInTurns(logs, saidBy)))
    first ??= { ...result.value, logs: [] }
    const isEnough = said.length >= recordsReadMax || page === pagesReadMax || app.clock() - began >= readingMs
    if (next === null || isEnough) return ok({ said, isAll: next === null, first })
    cursors = [next]
  }
}

/** Says which and how many records the patterns are of. */
function lookedAt({ conditions }: Asked, { said, isAll, first }: Read, patterns: number): Html {
  const [begin, end] = [said[0], said.at(-1)]
  if (begin === undefined || end === undefined) return html``
  const [from, to] = conditions.get('order') === 'asc' ? [begin, end] : [end, begin]
  const which = isAll
    ? `all ${counted(said.length, 'record')}`
    : `the ${conditions.get('order') === 'asc' ? 'oldest' : 'newest'} ${inWords(said.length)} of ${counted(first.count ?? 0, 'record')}`
  const more = isAll ? '' : ' Only these were read: a narrower search tells more.'
  const by = isRarestFirst(conditions) ? 'rarest' : 'most frequent'
  const shown = patterns > patternsShownMax ? ` These are the ${patternsShownMax} ${by}.` : ''
  return html`<p>
    <strong>${counted(patterns, 'pattern')}</strong> in ${which} that match, from ${timeAndZone(from.timestamp)} to
    ${timeAndZone(to.timestamp)}.${shown}${more}
  </p>`
}

/** Adds links to the patterns: to the records of each, and to the patterns of all others. */
async function withLinks(
  patterns: readonly Pattern<Said>[],
  { conditions }: Asked,
  { said, isAll, first }: Read,
): Promise<readonly ShownPattern[]> {
  const { normalized } = first.query
  const only = createNarrow({ path: '/app/logs', conditions: searched(conditions), normalized })
  const without = createNarrow({ path, conditions, normalized })
  return mapInTurns(patterns, (pattern) => {
    const own = new Set(pattern.said)
    const others = isAll ? said.filter((each) => !own.has(each)) : undefined
    const [clause, not] = [clauseOfPattern(pattern), clauseWithout(pattern, others)]
    return {
      ...pattern,
      only: clause === undefined ? undefined : only(clause),
      without: not === undefined ? undefined : without(not),
    }
  })
}

/** `meant`: suggestions if nothing was found. */
async function resultsOf(asked: Asked, read: Read, meant: Html, nowMs: number): Promise<Html> {
  const { conditions } = asked
  const { said, first } = read
  const { range, query, facets } = first
  const all = await patternsOf(said)
  const ordered = isRarestFirst(conditions) ? all.toReversed() : all
  const shown = await withLinks(ordered.slice(0, patternsShownMax), asked, read)
  const found = { path, conditions, facets, normalized: query.normalized } as const
  return html`${about(first)}${facetRow({ ...found, groups: logFacets, noun: 'records' })}
    <div id="results">
      ${lookedAt(asked, read, all.length)}
      <p class="row"><a href="${addressWith('/app/logs', searched(conditions), {})}">Records</a></p>
      ${said.length === 0 ? html`${meant}${nothingFits(path, asked, { noun: 'log record', range, nowMs })}` : patternTable(shown, said)}
    </div>`
}

async function sendPatterns(ctx: Context, app: AppContext): Promise<Refusal | void> {
  const asked = readHere(ctx, app)
  const read = await readSaid(ctx, app, asked)
  if (!read.ok) return read.error
  const { range, facets, query } = read.value.first
  const moves = rangeMoves(path, asked, range, app.clock())
  const find = (search: string) =>
    app.searches.logs(sessionHere(ctx).workspaceId, searched(new URLSearchParams(search)).toString())
  const isEmpty = read.value.said.length === 0
  const meant = isEmpty ? await meantBy(path, asked, query.normalized, find) : html``
  const results = await resultsOf(asked, read.value, meant, app.clock())
  await sendSessionPage(ctx, app, {
    title: 'Patterns',
    about: asked.conditions.get('q') ?? '',
    body: html`${formOf(asked, { facets, moves })}${results}`,
    scripts: [reopenScript],
  })
}

/** The page of the message patterns of a log search. */
export const createPatternPageRoute = (app: AppContext): Route =>
  searchRoute(app, { path, title: 'Patterns', formOf, send: sendPatterns })
