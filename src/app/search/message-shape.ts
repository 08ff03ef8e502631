import { blankColours, runCharacter, withoutColours } from '#src/events/tokens.ts'

// What is constant in a message: its first line, with a placeholder for each part that varies by nature. The rules go by what a part looks
// like, not by its place. Each passes over a line of bounded length once: no expression repeats within a repetition what another could take.

/** As much of a line as is looked at, in characters and in words. */
const lineCharactersMax = 1_000
const wordsMax = 60

export const anything = '<*>'
/** All placeholders. A message that holds the text of one is read as if it varied there. */
export const placeholder = /(<(?:num|id|ip|time|text|\*)>)/

/** A part of its own, and not of a longer word: where the index cuts words too (events/tokens.ts). */
const alone = (source: string, flags = ''): RegExp =>
  new RegExp(`(?<!${runCharacter})(?:${source})(?!${runCharacter})`, `gv${flags}`)

const clock = String.raw`\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?`
const month = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)'
const times = [
  // 2026-11-21T12:00:00.123Z, 2026/11/21 12:00:00,123 +01:00, and the day alone
  String.raw`\d{4}[\-\/]\d\d[\-\/]\d\d(?:[T ]${clock}(?:Z| ?[+\-]\d\d:?\d\d)?)?`,
  // 10/Oct/2000:13:55:36 -0700
  String.raw`\d{1,2}\/${month}\/\d{4}(?::${clock})?(?: [+\-]\d{4})?`,
  // Nov 21 12:00:00
  String.raw`${month} {1,2}\d{1,2},? ${clock}(?: \d{4})?`,
  // klog's I1121 12:00:00.123456
  String.raw`[IWEF]\d{4} ${clock}`,
  clock,
].join('|')

/** UUIDs, and addresses of network cards. */
const ids = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?:[\da-f]{2}:){5}[\da-f]{2}`
/** With a port. */
const addresses4 = String.raw`\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?`
/** A number and two colons at least, as times have: those are looked for before. */
const addresses6 = String.raw`(?=[a-f:]{0,8}\d)(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}`
/** `-5`, `1,234.5`, `12ms`, `5GB`, Go's `1m30.5s`. */
const numbers = String.raw`(?:(?<=^|[\s=\(:,\[])-)?(?:\d+h)?(?:\d+m)?\d+(?:[.,]\d+)*[A-Za-zµμ]{0,3}`

const changes = /(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu
/** Hexadecimal, or changing between letters and digits as names do not: `5d4f8c7b9d`, `x7k2p`; no `utf8`, `i18n`, `base64url`. */
const wholeWord = new RegExp(`${runCharacter}+`, 'gv')
const isId = (word: string): boolean =>
  /\d/.test(word) && (/^(?:0x[\da-f]+|[\da-f]{6,})$/i.test(word) || (word.match(changes)?.length ?? 0) >= 3)

/** `"…"`, '…' that is no apostrophe, and `…`. */
const quoted = new RegExp(`"[^"]*"|(?<!${runCharacter})'[^']*'(?!${runCharacter})|\`[^\`]*\``, 'gv')

/** Before a quotation that says what happened: `msg="…"`, `"message":"…"`, and klog's `controller.go:123] "…"`. */
const saidAhead = /(?:(?<![\w.])(?:msg|message|err|error)"?[=:] ?|\] )$/i

/** A quotation varies, but for the name of a member in JSON, the request in the line of a web server, and what is the message itself. */
function maskQuotation(quotation: string, place: number, line: string): string {
  if (quotation.startsWith('"') && /^ ?:/.test(line.slice(place + quotation.length, place + quotation.length + 2)))
    return quotation
  if (/^"[A-Z]{3,7} \S/.test(quotation)) return quotation
  if (saidAhead.test(line.slice(Math.max(0, place - 12), place))) return quotation
  const sign = quotation.charAt(0)
  return `${sign}<text>${sign}`
}

/** In this order: what a rule has replaced is nothing to those after it. */
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
  // The parts of an id that has signs in it.
  (line) => line.replace(/<(?:num|id)>(?:[-_.+~]<(?:num|id)>)+/g, '<id>'),
]

/** The word that a text ends with, if it does. Marks belong to the letter before them, also to one that is a word by itself. */
const wordAtEnd = `[[\\p{L}\\p{N}]--${runCharacter}]\\p{M}${runCharacter}*$|(?<!${runCharacter})${runCharacter}+$`
export const lastWord = new RegExp(wordAtEnd, 'v')
const lastWordOrSign = new RegExp(`${wordAtEnd}|[^]$`, 'v')

/** The text as far as that, without what may be the beginning of a word. */
export function cutAtWord(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text
  const short = text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')
  return short.replace(lastWordOrSign, '')
}

/** The line that says what happened: the first, of Python's stack traces the last. */
function lineOf(message: string): string {
  const text = message.trim()
  const end = text.search(/[\r\n]/)
  const first = end === -1 ? text : text.slice(0, end)
  if (end === -1 || !first.startsWith('Traceback (most recent call last)')) return first
  return text.slice(Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1)
}

const exampleCharactersMax = 200

/** The line as it came, as far as an example goes; a copy, which keeps nothing of the message in memory. */
export function exampleOf(message: string): string {
  const line = withoutColours(lineOf(message))
  const short = line.length > exampleCharactersMax ? `${line.slice(0, exampleCharactersMax)} …` : line
  return Buffer.from(short).toString()
}

/** Whether a message is no more than the line that it is shown by. */
export const isOneLine = (message: string): boolean =>
  message.length <= lineCharactersMax && !/[\r\n]/.test(message.trim())

/** A message with placeholders for what varies, its words with one blank between: `user <num> took <num> from <ip>`. '' of one without any. */
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
