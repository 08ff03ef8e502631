import { levelOfWord } from '#src/events/level-word.ts'
import { levels, spanKinds } from '#src/events/telemetry.ts'
import { nearest } from '#src/lib/nearest.ts'
import { ownLogField } from '#projections/logs/query.ts'
import { ownSpanField } from '#projections/traces/query.ts'
import { inOwnForms } from '#src/query/searches.ts'
import { html, type Html } from '../../html.ts'
import { mapPath } from '../../map-address.ts'
import { addressWith } from '../conditions.ts'
import { byEqualNames, renamedSince } from './equal-names.ts'
import { fromGrafana } from './grafana-words.ts'
import { queryCharactersMax } from '../narrow.ts'
import { quotedText, regexesIn, textOrRegex } from './passed-over.ts'

// Names and values from other tools and older conventions that find nothing here, because they have other names.

type Habit = readonly [typed: RegExp, here: string]

const levelWords = 'trace|debug|info|notice|warn|warning|err|error|crit|critical|fatal'

const ofLogs: readonly Habit[] = [
  [
    new RegExp(
      String.raw`(?<![\w.])@?(?:status|severity|severity_text|severityText|log\.level|lvl)(?=(?::|=|!=)["(]?(?:${levelWords})\b)`,
      'gi',
    ),
    'level',
  ],
  [/(?<![\w.])@?(?:resource\.)?service[._]name(?=:|=|!=)/gi, 'service'],
  [/(?<![\w.])@?(?:msg|body)(?=:|=|!=)/gi, 'message'],
]

/** Also after the name of a scope. After any other name it is part of a longer name, such as `app.db.name`. */
const olderNames = Object.entries(renamedSince).map(([older, here]): Habit => {
  const name = older.replaceAll('.', String.raw`\.`)
  const places = String.raw`(?<=(?<![\w.])(?:(?:span|resource|scope|event)\.)?)`
  return [new RegExp(`${places}${name}(?=[:=!<>])`, 'gi'), here]
})

const ofTraces: readonly Habit[] = [
  [/(?<![\w.])@?error(?::|=)"?true"?(?!\w)/gi, 'status=error'],
  [/(?<![\w.])@?(?:otel\.)?status[._]code(?=(?::|=|!=)"?(?:error|ok|unset)\b)/gi, 'status'],
  [/(?<![\w.])@?status(?::|=)"?(?:err|fail(?:ed|ure)?)"?(?=[\s)]|$)/gi, 'status=error'],
  [/(?<![\w.])@?status(?:_code)?(?=(?:(?::|=|!=)[[(]?|:?[<>]=?)[1-5](?:\d\d\b|\*))/gi, 'http.response.status_code'],
  [/(?<![\w.])@?(?:(?:resource\.)?deployment\.environment|env)(?=[:=!])/gi, 'deployment.environment.name'],
  [/(?<![\w.])@?(?:resource|operation)_name(?=[:=!])/gi, 'name'],
  [/(?<![\w.])rootServiceName(?=[:=!])/gi, 'service'],
  [/(?<![\w.])rootName(?=[:=!])/gi, 'name'],
  [/(?<![\w.])traceDuration(?=:?[<>])/gi, 'duration'],
  [/(?<![\w.])(?:nestedSetParent(?::?<0|[:=]"?-1"?)|(?:is_?)?root[:=]"?true"?)(?=[\s)]|$)/gi, '-parent_span_id:*'],
  [/(?<=(?<![\w.])kind(?::|=|!=))SPAN_KIND_/gi, ''],
  [/(?<![\w.])@?min_?duration[:=](?=\d)/gi, 'duration:>='],
  [/(?<![\w.])@?max_?duration[:=](?=\d)/gi, 'duration:<='],
]

/** Tools with a field for durations accept one with a comparison sign alone; here that would be a quoted text. */
const bareDuration = /(?<![^\s(])"([<>]=?)(\d{1,9}(?:\.\d{1,9})?(?:ns|us|ms|s|m|h))"(?=[\s)]|$)/g

const sources =
  'java|kt|scala|groovy|js|mjs|cjs|jsx|ts|mts|cts|tsx|vue|py|rb|php|go|rs|cs|fs|c|cc|cpp|h|swift|ex|erl|sql'

/** A line of a source file, as in stack traces, or a port: unquoted it would be a field with a value. Skips quoted texts. */
const place = new RegExp(
  String.raw`${quotedText}|(?<![\w./-])([\w./-]+\.(?:${sources})|localhost):"?(\d+(?::\d+)?)\b"?`,
  'gi',
)
const asText = (query: string): string =>
  query.replace(place, (typed, before?: string, line?: string) =>
    before === undefined ? typed : `"${before}:${line}"`,
  )

/** Fields with few possible values, where a typing error finds nothing. */
const fewValues: Readonly<Record<string, readonly string[]>> = {
  level: [...levels, 'warning', 'critical'],
  status: ['unset', 'ok', 'error'],
  kind: spanKinds,
}

type NamesOfFew = Readonly<Record<string, string>>

/** Names of these fields, here and elsewhere. Without `status` of logs: it means many things, whose values may resemble a level by chance. */
const levelNames: NamesOfFew = {
  level: 'level',
  severity: 'level',
  severity_text: 'level',
  severitytext: 'level',
  'log.level': 'level',
  lvl: 'level',
}
const spanNames: NamesOfFew = {
  status: 'status',
  'status.code': 'status',
  status_code: 'status',
  'otel.status_code': 'status',
  kind: 'kind',
}

/** A word with a word as its value; other quoted texts are skipped. */
const wordAndWord = new RegExp(String.raw`(?<![\w.@/-])@?([a-z_.]+)([:=])("?)([a-z]+)\3(?=[\s)]|$)|${quotedText}`, 'gi')

const withValues = (query: string, names: NamesOfFew): string =>
  query.replace(wordAndWord, (typed, field?: string, operator?: string, _quote?: string, word = '') => {
    const given = field?.toLowerCase() ?? ''
    const name = Object.hasOwn(names, given) ? (names[given] ?? '') : ''
    const values = fewValues[name] ?? []
    const isValue = values.includes(word.toLowerCase()) || (name === 'level' && levelOfWord(word) !== undefined)
    const meant = isValue ? (given === name ? undefined : word) : nearest(word, values)
    return meant === undefined ? typed : `${name}${operator}${meant}`
  })

/** Renames outside quotes and regular expressions only. */
const renamed = (query: string, [typed, here]: Habit): string =>
  query.replace(new RegExp(`(${typed.source})|${textOrRegex}`, 'gi'), (whole, habit?: string) =>
    habit === undefined ? whole : here,
  )

const isOfTraces = (path: string): boolean => path === '/app/traces' || path === mapPath

function inOwnNames(path: string, query: string): string {
  const timed = isOfTraces(path) ? query.replace(bareDuration, 'duration:$1$2') : query
  const named = (isOfTraces(path) ? ofTraces : ofLogs).reduce(renamed, timed)
  return withValues(named, isOfTraces(path) ? spanNames : levelNames)
}

function didYouMean(path: string, conditions: URLSearchParams, query: string): Html {
  return html`<p>Did you mean <a href="${addressWith(path, conditions, { q: query })}">${query}</a>?</p>`
}

/** A suggestion for a search that was typed as in Grafana. */
function ofGrafana(path: string, conditions: URLSearchParams): Html {
  const query = fromGrafana(conditions.get('q') ?? '')
  if (query === undefined) return html``
  // Nothing was searched for yet, under the old or the new name.
  const named = inOwnNames(path, inOwnForms(query))
  return didYouMean(path, conditions, isOfTraces(path) ? olderNames.reduce(renamed, named) : named)
}

/** The search in the forms and names that are used here; undefined if it has them already. */
function inOwnWords(path: string, conditions: URLSearchParams): string | undefined {
  const typed = conditions.get('q')?.trim() ?? ''
  if (typed.length > queryCharactersMax || fromGrafana(typed) !== undefined) return undefined
  const query = inOwnForms(typed)
  return query === typed || query === '' ? undefined : inOwnNames(path, query)
}

/** A suggestion for a refused search that was typed as in another tool. */
export function ofOtherTools(path: string, conditions: URLSearchParams): Html {
  const habit = ofGrafana(path, conditions)
  const query = habit.markup === '' ? inOwnWords(path, conditions) : undefined
  return query === undefined ? habit : didYouMean(path, conditions, query)
}

/** A suggestion for a search that found nothing: with this language's forms, or the names of other senders, if that finds something. */
export async function otherForms(
  path: string,
  conditions: URLSearchParams,
  normalized: string,
  isFound: (q: string) => Promise<boolean>,
): Promise<Html> {
  const form = inOwnWords(path, conditions)
  if (form !== undefined && (await isFound(form))) return didYouMean(path, conditions, form)
  const own = isOfTraces(path) ? ownSpanField : ownLogField
  const query = form ?? inOwnNames(path, normalized)
  const meant = await byEqualNames(query, (name) => own(name) !== undefined, isFound)
  return meant === undefined ? html`` : didYouMean(path, conditions, meant)
}

/** A suggestion for a search that found nothing: the same search with the names that are used here. */
export function otherNames(path: string, conditions: URLSearchParams, normalized: string): Html {
  const habit = ofGrafana(path, conditions)
  if (habit.markup !== '') return habit
  const query = inOwnNames(path, asText(normalized))
  // A regular expression would mean something else if it were changed.
  const isOther = query !== normalized && regexesIn(query) === regexesIn(normalized)
  return isOther ? didYouMean(path, conditions, query) : html``
}
