import { queryCharactersMax } from './narrow.ts'
import { quotedText } from './passed-over.ts'

// Selectors of TraceQL and LogQL, which people type by habit, in the words of the search here.

/** Texts in quotes are kept as they are; `change` is for what lies between them. */
const besideQuotes = (text: string, change: (part: string) => string): string =>
  text.replace(new RegExp(`(${quotedText})|[^"]+`, 'g'), (part, quoted?: string) =>
    quoted === undefined ? change(part) : part,
  )

/** An attribute that TraceQL looks for in spans and resources begins with a dot there, and CloudWatch's fields with `$.`. */
const withoutDots = (text: string): string =>
  besideQuotes(text, (part) => part.replace(/(?<![\w.\])$])\$?\.(?=[a-z_][\w.-]{0,128}\s*(?:!=|=|>|<))/gi, ''))

/** Texts in backticks, which say every character as it is, in quotes. */
const inQuotesOnly = (text: string): string =>
  text.replace(new RegExp(`${quotedText}|\`([^\`]*)\``, 'g'), (part, plain?: string) =>
    plain === undefined ? part : `"${plain.replace(/["\\]/g, '\\$&')}"`,
  )

/** `"a|b"` as a regular expression, which is one of any case here. */
function regexOf(quoted: string): string {
  const source = quoted.slice(1, -1).replace(/\\(["\\])/g, '$1')
  return `/${source.replace(/^\(\?i\)/, '').replace(/\\.|\//g, (part) => (part === '/' ? '\\/' : part))}/`
}

const withoutGaps = (text: string): string => text.replace(/\s+/g, ' ').replace(/ ?(!=|[<>]=?|=) ?/g, '$1')

/** Conditions on texts; other texts in quotes are passed over. */
const matchers = new RegExp(String.raw`(?<![\w.])([\w.]+)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")(\s*)|${quotedText}`, 'g')

/** Of a record that has no such label Grafana takes the value to be empty. A whole value is what its regular expressions find. */
function matcherIn(name: string, operator: string, quoted: string, isOneOfAny: boolean): string | undefined {
  const isNegated = operator.startsWith('!')
  const exists = (is: boolean): string => `${is ? '' : '-'}${name}:*`
  if (quoted === '""') return exists(isNegated)
  if (!operator.endsWith('~')) return undefined
  if (quoted === '".+"') return exists(!isNegated)
  // All values, and none. By a dashboard for which nothing is chosen.
  if (quoted === '".*"' && !isNegated) return isOneOfAny ? exists(true) : ''
  return `${isNegated ? '-' : ''}${name}:${regexOf(quoted)}`
}

function matchersIn(text: string): string {
  const isOneOfAny = /&&|\|\|/.test(text)
  return text.replace(matchers, (part, name: string | undefined, operator: string, quoted: string, gap: string) => {
    const here = name === undefined ? undefined : matcherIn(name, operator, quoted, isOneOfAny)
    if (here === undefined) return part
    return here === '' ? '' : here + gap
  })
}

/** What is in braces: conditions, in LogQL with commas between them. A regular expression keeps its commas and blanks, in quotes until then. */
const conditionsIn = (text: string): string =>
  matchersIn(besideQuotes(withoutDots(text), (part) => withoutNil(withoutGaps(part.replace(/,/g, ' '))))).trim()

/** TraceQL compares what is not there with `nil`. */
const withoutNil = (text: string): string =>
  text.replace(/(?<![\w.])([\w.]+)(!?)=nil(?![\w.])/g, (_all, name: string, isNot: string) =>
    isNot === '' ? `-${name}:*` : `${name}:*`,
  )

/** Whether it has conditions, or at least nothing else, as an object in JSON has. */
const isSelector = (inside: string): boolean =>
  inside.trim() === '' || /[=<>~]/.test(inside.replace(/"(?:[^"\\]|\\.)*"/g, ''))

/** Behind the braces of LogQL: texts that lines have or have not, parsers, which nothing here needs, and conditions on what these find. */
const stage =
  /^\s*(?:(\|=|!=|\|~|!~)\s*("(?:[^"\\]|\\.)*")|\|\s*(?:json|logfmt)\b|\|\s*([\w.]+\s*(?:!=|=~|!~|[<>]=?|=)\s*(?:"(?:[^"\\]|\\.)*"|[\w.]+)))/

/** Nothing of what every line has; undefined where that must be in none. */
function lineFilter(operator: string, given: string): string | undefined {
  const isRegex = operator.endsWith('~')
  const isAny = given === '""' || (isRegex && /^"\.[*+]"$/.test(given))
  if (isAny) return operator.startsWith('!') ? undefined : ''
  return `${operator.startsWith('!') ? '-' : ''}${isRegex ? regexOf(given) : given}`
}

function stagesOf(text: string): readonly string[] | undefined {
  const said: string[] = []
  let rest = text
  while (rest.trim() !== '') {
    const [taken, operator, given = '', condition] = stage.exec(rest) ?? []
    if (taken === undefined) return undefined
    rest = rest.slice(taken.length)
    if (condition !== undefined) said.push(conditionsIn(condition))
    if (operator === undefined) continue
    const words = lineFilter(operator, given)
    if (words === undefined) return undefined
    if (words !== '') said.push(words)
  }
  return said
}

/** A search as it is typed in Grafana, in the words that are used here; undefined where it is none, or has no words here. */
export function fromGrafana(given: string): string | undefined {
  // Refused whatever it means. What an address has room for beyond would hold up this process for seconds here.
  if (given.length > queryCharactersMax) return undefined
  const typed = inQuotesOnly(given)
  const [, inside, behind = ''] = /^\s*\{((?:"(?:[^"\\]|\\.)*"|[^{}"])*)\}([^]*)$/.exec(typed) ?? []
  if (inside === undefined) {
    const changed = withoutDots(typed)
    return changed === typed ? undefined : besideQuotes(changed, withoutGaps).trim()
  }
  const stages = isSelector(inside) ? stagesOf(behind) : undefined
  const said = stages === undefined ? '' : [conditionsIn(inside), ...stages].filter(Boolean).join(' ')
  return said === '' ? undefined : said
}
