import { blankColours, runCharacter, withoutColours } from '#src/events/tokens.ts'

// Computes the constant part of a message: its first line, with placeholders for the parts that vary. The rules judge a part by its form, not by its
// place. Each rule is linear in a line of bounded length: no regular expression repeats within a repetition what another could match.

/** How much of a line is used, in characters and words. */
const lineCharactersMax = 1_000
const wordsMax = 60

export const anything = '<*>'
/** All placeholders. A message that contains the text of one is treated as if it varied there. */
export const placeholder = /(<(?:num|id|ip|time|text|\*)>)/

/** Matches a whole word only, by the index's word boundaries (events/tokens.ts). */
const alone = (source: string, flags = ''): RegExp =>
  new RegExp(`(?<!${runCharacter})(?:${source})(?!${runCharacter})`, `gv${flags}`)

const clock = String.raw`\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?`
const month = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)'
const times = [
  // 2026-11-21T12:00:00.123Z, 2026/11/21 12:00:00,123 +01:00, and the date alone
  String.raw`\d{4}[\-\/]\d\d[\-\/]\d\d(?:[T ]${clock}(?:Z| ?[+\-]\d\d:?\d\d)?)?`,
  // 10/Oct/2000:13:55:36 -0700
  String.raw`\d{1,2}\/${month}\/\d{4}(?::${clock})?(?: [+\-]\d{4})?`,
  // Nov 21 12:00:00
  String.raw`${month} {1,2}\d{1,2},? ${clock}(?: \d{4})?`,
  // klog's I1121 12:00:00.123456
  String.raw`[IWEF]\d{4} ${clock}`,
  clock,
].join('|')

/** UUIDs and MAC addresses. */
const ids = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?:[\da-f]{2}:){5}[\da-f]{2}`
/** With a port. */
const addresses4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?`
/** At least one digit and two colons. Times look like that too, but are replaced first. */
const addresses6 = String.raw`(?=[a-f:]{0,8}\d)(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}`
/** `-5`, `1,234.5`, `12ms`, `5GB`, Go's `1m30.5s`. */
const numbers = String.raw`(?:(?<=^|[\s=\(:,\[])-)?(?:\d+h)?(?:\d+m)?\d+(?:[.,]\d+)*[A-Za-zµμ]{0,3}`

const changes = /(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu
/** Hexadecimal, or with more changes between letters and digits than names have: `5d4f8c7b9d`, `x7k2p`; not `utf8`, `i18n`, `base64url`. */
const wholeWord = new RegExp(`${runCharacter}+`, 'gv')
const isId = (word: string): boolean =>
  /\d/.test(word) && (/^(?:0x[\da-f]+|[\da-f]{6,})$/i.test(word) || (word.match(changes)?.length ?? 0) >= 3)

/** `"…"`, '…' if it is no apostrophe, and `…`. */
const quoted = new RegExp(`"[^"]*"|(?<!${runCharacter})'[^']*'(?!${runCharacter})|\`[^\`]*\``, 'gv')

/** What stands before a quoted message: `msg="…"`, `"message":"…"`, and klog's `controller.go:123] "…"`. */
const saidAhead = /(?:(?<![\w.])(?:msg|message|err|error)"?[=:] ?|\] )$/i

/** Masks a quoted text, unless it is a member's name in JSON, the request in a web server's log line, or the message itself. */
function maskQuotation(quotation: string, place: number, line: string): string {
  if (quotation.startsWith('"') && /^ ?:/.test(line.slice(place + quotation.length, place + quotation.length + 2)))
    return quotation
  if (/^"[A-Z]{3,7} \S/.test(quotation)) return quotation
  if (saidAhead.test(line.slice(Math.max(0, place - 12), place))) return quotation
  const sign = quotation.charAt(0)
  return `${sign}<text>${sign}`
}

/** In this order: later rules do not see what an earlier one has replaced. */
const rules: readonly ((line: string) => string)[] = [
  (line) => line.replace(quoted, maskQuotation),
  ...(
    [
      [alone(ids, 'i'), '<id>'],
      [alone(addresses4), '<ip>'],
      [alone(times, 'i'), '<time>'],
      [alone(addresses6, 'i'), '<ip>'],
      [alone(numbers), '<num>'],
    ] as const
  ).map(
    ([what, by]) =>
      (line: string) =>
        line.replace(what, by),
  ),
  (line) => line.replace(wholeWord, (word) => (isId(word) ? '<id>' : word)),
  // Joins the parts of an id that contains separators.
  (line) => line.replace(/<(?:num|id)>(?:[-_.+~]<(?:num|id)>)+/g, '<id>'),
]

/** The word at the end of a text, if there is one. Combining marks belong to the letter before them, even to one that is a word by itself. */
const wordAtEnd = `[[\\p{L}\\p{N}]--${runCharacter}]\\p{M}${runCharacter}*$|(?<!${runCharacter})${runCharacter}+$`
export const lastWord = new RegExp(wordAtEnd, 'v')
const lastWordOrSign = new RegExp(`${wordAtEnd}|[^]$`, 'v')

/** The text up to that length, without a word that may have been cut. */
export function cutAtWord(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const short = text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')
  return short.replace(lastWordOrSign, '')
}

/** The line that says what happened: the first, or the last of a Python stack trace. */
function lineOf(message: string): string {
  const text = message.trim()
  const end = text.search(/[\r\n]/)
  const first = end === -1 ? text : text.slice(0, end)
  if (end === -1 || !first.startsWith('Traceback (most recent call last)')) return first
  return text.slice(Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1)
}

const exampleCharactersMax = 200

/** The line as it came, cut to the length of an example. A copy, so that the message's memory can be freed. */
export function exampleOf(message: string): string {
  const line = withoutColours(lineOf(message))
  const short = line.length > exampleCharactersMax ? `${line.slice(0, exampleCharactersMax)} …` : line
  return Buffer.from(short).toString()
}

/** Whether a message is no longer than the line that it is shown by. */
export const isOneLine = (message: string): boolean =>
  message.length <= lineCharactersMax && !/[\r\n]/.test(message.trim())

/** A message with placeholders, its words separated by one blank: `user <num> took <num> from <ip>`. Empty if there are no words. */
export function shapeOf(message: string): string {
  const line = blankColours(lineOf(message))
  const short = cutAtWord(line, lineCharactersMax)
  const whole = short.length < line.length ? `${short}${anything}` : line
  const words = rules
    .reduce((text, mask) => mask(text), whole)
    .split(/\s+/)
    .filter((word) => word !== '')
  return (words.length > wordsMax ? [...words.slice(0, wordsMax), anything] : words).join(' ')
}
