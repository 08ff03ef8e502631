import { quotedText, regexOf } from '#src/query/searches.ts'
import { queryCharactersMax } from '../narrow.ts'

// Translates selectors of TraceQL and LogQL, which people type by habit, into the search language.

/** Applies `change` to the text outside quotes. */
const besideQuotes = (text: string, change: (part: string) => string): string =>
  text.replace(new RegExp(`(${quotedText})|[^"]+`, 'g'), (part, quoted?: string) =>
    quoted === undefined ? change(part) : part,
  )

/** TraceQL begins attributes of any scope with a dot, CloudWatch its fields with `$.`. */
const withoutDots = (text: string): string =>
  besideQuotes(text, (part) => part.replace(/(?<![\w.\])$])\$?\.(?=[a-z_][\w.-]{0,128}\s*(?:!=|=|>|<))/gi, ''))

/** Turns texts in backticks, which have no escapes, into quoted ones. */
const inQuotesOnly = (text: string): string =>
  text.replace(new RegExp(`${quotedText}|\`([^\`]*)\``, 'g'), (part, plain?: string) =>
    plain === undefined ? part : `"${plain.replace(/["\\]/g, '\\$&')}"`,
  )

/** `"a|b"` as a regular expression of the search language. */
const regexIn = (quoted: string): string => regexOf(quoted.slice(1, -1).replace(/\\(["\\])/g, '$1'))

const withoutGaps = (text: string): string => text.replace(/\s+/g, ' ').replace(/ ?(!=|[<>]=?|=) ?/g, '$1')

/** Conditions on texts; other quoted texts are skipped. */
const matchers = new RegExp(String.raw`(?<![\w.])([\w.]+)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*")(\s*)|${quotedText}`, 'g')

/** A label condition. In Grafana a missing label has an empty value, and a regular expression must match the whole value. */
function matcherIn(name: string, operator: string, quoted: string, isOneOfAny: boolean): string | undefined {
  const isNegated = operator.startsWith('!')
  const exists = (is: boolean): string => `${is ? '' : '-'}${name}:*`
  if (quoted === '""') return exists(isNegated)
  if (!operator.endsWith('~')) return undefined
  if (quoted === '".+"') return exists(!isNegated)
  // All values, or none. A dashboard writes this if nothing is chosen.
  if (quoted === '".*"' && !isNegated) return isOneOfAny ? exists(true) : ''
  return `${isNegated ? '-' : ''}${name}:${regexIn(quoted)}`
}

function matchersIn(text: string): string {
  const isOneOfAny = /&&|\|\|/.test(text)
  return text.replace(matchers, (part, name: string | undefined, operator: string, quoted: string, gap: string) => {
    const here = name === undefined ? undefined : matcherIn(name, operator, quoted, isOneOfAny)
    if (here === undefined) return part
    return here === '' ? '' : here + gap
  })
}

/** The conditions in braces; LogQL separates them by commas. Regular expressions keep commas and blanks, because they are still quoted here. */
const conditionsIn = (text: string): string =>
  matchersIn(besideQuotes(withoutDots(text), (part) => withoutNil(withoutGaps(part.replace(/,/g, ' '))))).trim()

/** TraceQL compares a missing attribute with `nil`. */
const withoutNil = (text: string): string =>
  text.replace(/(?<![\w.])([\w.]+)(!?)=nil(?![\w.])/g, (_all, name: string, isNot: string) =>
    isNot === '' ? `-${name}:*` : `${name}:*`,
  )

/** Whether the braces hold conditions or nothing. An object in JSON holds neither. */
const isSelector = (inside: string): boolean =>
  inside.trim() === '' || /[=<>~]/.test(inside.replace(/"(?:[^"\\]|\\.)*"/g, ''))

/** A stage after LogQL's braces: a line filter, a parser (not needed here), or a condition on a parsed label. */
const stage =
  /^\s*(?:(\|=|!=|\|~|!~)\s*("(?:[^"\\]|\\.)*")|\|\s*(?:json|logfmt)\b|\|\s*([\w.]+\s*(?:!=|=~|!~|[<>]=?|=)\s*(?:"(?:[^"\\]|\\.)*"|[\w.]+)))/

/** A line filter. Empty for a text that every line has; undefined if no line may have such a text. */
function lineFilter(operator: string, given: string): string | undefined {
  const isRegex = operator.endsWith('~')
  const isAny = given === '""' || (isRegex && /^"\.[*+]"$/.test(given))
  if (isAny) return operator.startsWith('!') ? undefined : ''
  return `${operator.startsWith('!') ? '-' : ''}${isRegex ? regexIn(given) : given}`
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

/** Translates a search that was typed as in Grafana; undefined if it is none, or cannot be translated. */
export function fromGrafana(given: string): string | undefined {
  // Such a search is refused anyway. A long address would block this process for seconds here.
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
