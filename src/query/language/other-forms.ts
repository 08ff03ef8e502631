import { groupItem, inQuotes } from './print-query.ts'

// Conditions as other languages write them, which here are words, or values, or refused. By a table: what is typed, and how the same is written here.

/** Where it is said: in a warning where it is written so (`IN`), and of what found nothing in any case; of that alone; or never in another case. */
type Said = 'asWritten' | 'ofNothing' | 'inCapitals'
type Form = Readonly<{ typed: string; said: Said; here: (...parts: string[]) => string }>

/** A quoted text. Without a closing quote it goes to the end: otherwise the search for one would begin again at each character, in quadratic time. */
export const quotedText = String.raw`"(?:[^"\\]|\\.)*"?`
/** A name at the beginning of a condition, and a sign of negation behind it. */
const name = String.raw`(?<![^\s(!-])(@?[\p{L}_][\p{L}\p{N}_.@$/-]{0,255})`
const not = String.raw`(NOT\s+|!)?`
const end = String.raw`(?=[\s)]|$)`
const text = String.raw`"[^"\\]{1,200}"|'[^'\\]{1,200}'`
const textOrWord = String.raw`(${text}|[\p{L}\p{N}][\p{L}\p{N}_.-]{0,127})${end}`
const number = String.raw`(-?\d{1,20}(?:\.\d{1,20})?[a-zA-Zµ]{0,3})`
const item = String.raw`[^\s()[\]"'|,:=<>]{1,128}`

const bare = (typed: string): string => typed.trim().replace(/^(["'])(.*)\1$/, '$2')
const sign = (negation: string): string => (negation === '' ? '' : '-')

function either(field: string, items: string, separator: RegExp): string {
  const values = items.split(separator).map(bare).filter(Boolean).map(groupItem)
  return values.length === 1 ? `${field}=${values[0]}` : `${field}=(${values.join(' OR ')})`
}

/** As a pattern, where what is no letter or digit stands for itself. */
const pattern = (typed: string): string => typed.replace(/[^\p{L}\p{N}_.*]/gu, '\\$&')
/** A regular expression of another language as one of this, which ignores case anyway. */
export const regexOf = (source: string): string =>
  `/${source.replace(/^\(\?i\)/, '').replace(/\\.|\//g, (part) => (part === '/' ? '\\/' : part))}/`

/** By a part of a value: a word as a pattern, and several side by side. */
function part(typed: string, before: string, behind: string): string {
  const value = bare(typed)
  return /\s/.test(value) ? inQuotes(value) : `${before}${pattern(value)}${behind}`
}

const forms: readonly Form[] = [
  // level IN (error, warn)
  {
    typed: String.raw`${name}\s+${not}(?:IN\s*|[Ii]n\s*(?=[([]\s*["']))[([]([^()[\]]{1,400})[)\]]`,
    said: 'asWritten',
    here: (field, negation, items) => sign(negation) + either(field, items, /,/),
  },
  // path LIKE '/api/%'
  {
    typed: String.raw`${name}\s+${not}I?LIKE\s+(${text})`,
    said: 'asWritten',
    here: (field, negation, like) =>
      `${sign(negation)}${field}${like.includes('%') ? `:${pattern(bare(like).replaceAll('%', '*'))}` : `=${inQuotes(bare(like))}`}`,
  },
  {
    typed: String.raw`${name}\s+${not}BETWEEN\s+${number}\s+AND\s+${number}${end}`,
    said: 'asWritten',
    here: (field, negation, from, to) => `${sign(negation)}${field}:[${from} TO ${to}]`,
  },
  {
    typed: String.raw`${name}\s+IS\s+${not}NULL${end}`,
    said: 'inCapitals',
    here: (field, negation) => `${negation === '' ? '-' : ''}${field}:*`,
  },
  // status:400..499, status:[400,499], status:(400 TO 499)
  {
    typed: String.raw`${name}[:=](?:\[${number}(?:\.\.|,\s*)${number}\]|${number}\.\.${number}${end}|\(${number}\s+TO\s+${number}\))`,
    said: 'asWritten',
    here: (field, a, b, c, d, e, f) => `${field}:[${a || c || e} TO ${b || d || f}]`,
  },
  // status:>400 AND <500
  {
    typed: String.raw`${name}:?([<>]=?\s*)${number}\s+(AND|OR)\s+([<>]=?\s*)${number}${end}`,
    said: 'asWritten',
    here: (field, a, from, joined, b, to) => `${field}${a}${from} ${joined} ${field}${b}${to}`,
  },
  // status=>400, status =< 400
  {
    typed: String.raw`${name}\s*:?=([<>])\s*${number}${end}`,
    said: 'asWritten',
    here: (field, operator, bound) => `${field}${operator}=${bound}`,
  },
  // level:[error, warn], level:error|warn
  {
    typed: String.raw`${name}[:=](?:\[(?![^\]]{1,400}\sTO\s)([^()[\]]{1,400})\]|(?!\/)(${item}(?:\|${item}){1,50})${end})`,
    said: 'ofNothing',
    here: (field, list, piped) => either(field, list || piped, list === '' ? /\|/ : /,/),
  },
  // "connection refused"~5
  {
    typed: String.raw`"([^"\\]{1,400})"[~^]\d{1,3}(?:\.\d{1,3})?${end}`,
    said: 'asWritten',
    here: (words) => `(${words.trim().split(/\s+/).map(groupItem).join(' ')})`,
  },
  // timeout~2, timeout^4
  { typed: String.raw`(?<=[\p{L}\p{N}])[~^](?:\d(?:\.\d)?)?${end}`, said: 'ofNothing', here: () => '' },
  // Of a whole value, and of a part of it, as a regular expression.
  {
    typed: String.raw`${name}(?:\s*|:(?==))([=!])~\s*(?:(${text}|[\p{L}\p{N}]${item})|\/([^\s/]{1,200})\/)${end}`,
    said: 'ofNothing',
    here: (field, operator, value, source) =>
      `${operator === '!' ? '-' : ''}${field}:${regexOf(source || bare(value))}`,
  },
  {
    typed: String.raw`${name}(?:\s*~\s*|:(!)?~)${textOrWord}`,
    said: 'ofNothing',
    here: (field, negation, value) => `${sign(negation)}${field}:${part(value, '*', '*')}`,
  },
  // path CONTAINS api, path STARTSWITH '/api', path ENDS_WITH orders
  {
    typed: String.raw`${name}\s+${not}(CONTAINS|HAS|STARTS_?WITH|ENDS_?WITH)\s+${textOrWord}`,
    said: 'asWritten',
    here: (field, negation, how, value) =>
      `${sign(negation)}${field}:${part(value, /^s/i.test(how) ? '' : '*', /^e/i.test(how) ? '' : '*')}`,
  },
  // What TraceQL knows of its own: span:duration > 1s
  {
    typed: String.raw`(?<![^\s(!-])(?:span:(duration|status|kind|name)|trace:(duration)|trace:root(Service|Name)|(trace|span):id|event:(name))(?=\s*(?:[=<>]|!=))`,
    said: 'asWritten',
    here: (ofSpan, ofTrace, ofRoot, id, ofEvent) =>
      ofSpan || ofTrace || ofRoot.toLowerCase() || (id === '' ? `event.${ofEvent}` : `${id}_id`),
  },
  // service = 'web': a warning of its own says it.
  {
    typed: String.raw`${name}\s*(:|!={0,2}|={1,3}|<>)\s*'([^'"\\]{1,200})'${end}`,
    said: 'ofNothing',
    here: (field, operator, value) =>
      `${field}${operator === ':' ? ':' : /^[!<]/.test(operator) ? '!=' : '='}${inQuotes(value)}`,
  },
  {
    typed: String.raw`(?<![^\s(!-])(?:has|exists):"?(@?[\p{L}_][\p{L}\p{N}_.-]{0,255})"?${end}`,
    said: 'ofNothing',
    here: (field) => `${field}:*`,
  },
  {
    typed: String.raw`(?<![^\s(])_?missing_?:"?(@?[\p{L}_][\p{L}\p{N}_.-]{0,255})"?${end}`,
    said: 'ofNothing',
    here: (field) => `-${field}:*`,
  },
  { typed: String.raw`(?<![^\s(])(?:index|sourcetype)=\S+\s*`, said: 'ofNothing', here: () => '' },
]

const compiled = forms.map(({ typed, said, here }) => {
  // What is in quotes is passed over.
  const source = `(?<form>${typed})|${quotedText}`
  return { said, here, asWritten: new RegExp(source, 'gu'), inAnyCase: new RegExp(source, 'giu') }
})

type Note = (typed: string, here: string) => void

function rewrite(query: string, here: Form['here'], typed: RegExp, note: Note = () => undefined): string {
  return query.replace(typed, (whole, form: string | undefined, ...rest) => {
    if (form === undefined) return whole
    // Groups of the form, and behind them the place, the query and the groups by name.
    const written = here(...rest.slice(0, -3).map((each: unknown) => (typeof each === 'string' ? each : '')))
    note(whole, written)
    return written
  })
}

/** Warnings of conditions that are written as elsewhere, and mean something else here. */
export function otherFormsIn(query: string): readonly string[] {
  const warnings: string[] = []
  for (const { said, here, asWritten } of compiled) {
    if (said === 'ofNothing') continue
    rewrite(query, here, asWritten, (typed, written) => {
      warnings.push(`${typed} is no condition here, and is looked for as text; write ${written}`)
    })
  }
  return warnings
}

const command =
  /^\s*(where|filter|search)\s+|^\s*(?:stats|count|sort|order|head|limit|take|top|table|project|fields|summarize|eval|dedup|timechart|json|logfmt)(?=[\s(]|$)/i

/** What is searched for among the parts of a pipe; undefined where there is none, or a part of it is not known. */
function withoutPipes(query: string): string | undefined {
  // What is counted of TraceQL's braces is asked for too.
  if (!query.includes('|') || query.trim().startsWith('{')) return undefined
  const [first = '', ...more] = query.match(new RegExp(String.raw`^\s*(?=\|)|(?:${quotedText}|\|\||[^"|])+`, 'g')) ?? []
  const commands = more.map((each) => command.exec(each))
  if (more.length === 0 || commands.includes(null)) return undefined
  const asked = more.filter((_, at) => commands[at]?.[1] !== undefined).map((each) => each.replace(command, '').trim())
  // A table alone, or the fields to be shown.
  const isSource = command.test(first) || (asked.length > 0 && /^\s*\w*\s*$/.test(first))
  return [...(isSource ? [] : [first.trim()]), ...asked].join(' ')
}

/** A search in other words, as it is written here; the same where nothing in it is known. */
export function inOwnForms(query: string): string {
  const asked = (withoutPipes(query) ?? query).replace(
    /^\s*(?:select\s[^"]{0,1000}?\swhere\s|where\s|search\s(?=[^]*=))/i,
    '',
  )
  const written = compiled.reduce(
    (text, { said, here, asWritten, inAnyCase }) => rewrite(text, here, said === 'inCapitals' ? asWritten : inAnyCase),
    asked,
  )
  return written.trim()
}
