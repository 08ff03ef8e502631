import { levelOfWord } from '#src/events/level-word.ts'
import { levels, spanKinds } from '#src/events/telemetry.ts'
import { nearest } from '#src/lib/nearest.ts'
import { inOwnForms, quotedText } from '#src/query/searches.ts'
import { queryCharactersMax, type Search } from '../narrow.ts'
import { byEqualNames, renamedSince } from './equal-names.ts'
import { fromGrafana } from './grafana-words.ts'
import { isFoundBy, isOfTraces, isOwnField, type Find, type TypedSearch } from './page-search.ts'
import { regexesIn, textOrRegex } from './passed-over.ts'

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

function inOwnNames(search: TypedSearch, query: string): string {
  const timed = isOfTraces(search) ? query.replace(bareDuration, 'duration:$1$2') : query
  const named = (isOfTraces(search) ? ofTraces : ofLogs).reduce(renamed, timed)
  return withValues(named, isOfTraces(search) ? spanNames : levelNames)
}

/** A search that was typed as in Grafana, in the names that are used here; undefined if it was not. */
function ofGrafana(search: TypedSearch): string | undefined {
  const query = fromGrafana(search.conditions.get('q') ?? '')
  if (query === undefined) return undefined
  // Nothing was searched for yet, under the old or the new name.
  const named = inOwnNames(search, inOwnForms(query))
  return isOfTraces(search) ? olderNames.reduce(renamed, named) : named
}

/** The search in the forms and names that are used here; undefined if it has these forms already. */
function inOwnWords(search: TypedSearch): string | undefined {
  const typed = search.conditions.get('q')?.trim() ?? ''
  if (typed.length > queryCharactersMax || fromGrafana(typed) !== undefined) return undefined
  const query = inOwnForms(typed)
  return query === typed || query === '' ? undefined : inOwnNames(search, query)
}

/** What a refused search would be here, if it was typed as in another tool. */
export const ofOtherTools = (search: TypedSearch): string | undefined => ofGrafana(search) ?? inOwnWords(search)

/** For a search that found nothing: the same in this language's forms, or with the names of other senders, if that finds something. */
export async function otherForms(search: Search, find: Find): Promise<string | undefined> {
  const isFound = (q: string): Promise<boolean> => isFoundBy(find, search, q)
  const form = inOwnWords(search)
  if (form !== undefined && (await isFound(form))) return form
  return byEqualNames(form ?? inOwnNames(search, search.normalized), (name) => isOwnField(search, name), isFound)
}

/** For a search that found nothing: the same with the names that are used here, if it has others. */
export function otherNames(search: Search): string | undefined {
  const habit = ofGrafana(search)
  if (habit !== undefined) return habit
  const { normalized } = search
  const query = inOwnNames(search, asText(normalized))
  // A regular expression would mean something else if it were changed.
  return query !== normalized && regexesIn(query) === regexesIn(normalized) ? query : undefined
}
