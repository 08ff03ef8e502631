import type { Json, JsonObject } from '#src/lib/json.ts'
import { levelByName } from './level.ts'
import { fromRuntime } from './runtime.ts'
import { fieldsOfSpringLine, springLineOf } from './spring.ts'

// Headers that are put before a line of text on its way: by syslog, including Heroku's drains, and by container runtimes.

const isoTime = String.raw`\d{4}-\d\d-\d\dT\S{1,32}`
/** The line's length (RFC 6587 §3.4.1), and syslog's priority. */
const priority = String.raw`(?:\d{1,7} )?<(?<priority>\d{1,3})>`
/** RFC 5424 §6, up to the structured data. */
const ofSyslog = new RegExp(
  String.raw`^${priority}1 (?<timestamp>${isoTime}|-) (?<hostname>\S{1,255}) (?<appname>\S{1,48}) (?<procid>\S{1,128}) (?<msgid>\S{1,32})(?: |$)`,
)
/** The form that rsyslog forwards: a time with its year, and a tag. */
const ofForwarder = new RegExp(
  String.raw`^${priority}(?<timestamp>${isoTime}) (?<hostname>\S{1,255}) (?<appname>[^\s:[\]]{1,48})(?:\[(?<procid>[^\s\]]{1,128})\])?:(?: |$)`,
)
/** A host name or an IPv6 address. A text that ends in a single colon is a tag. */
const host = String.raw`[^\s:[\]]{1,255}|[\dA-Fa-f]{0,4}:[\dA-Fa-f]{0,4}:[\dA-Fa-f:.]{0,35}(?:%\w{1,16})?`
/** RFC 3164 §4.1: a time without year and zone, which therefore dates no record; a host in some lines; a tag. */
const ofOldSyslog = new RegExp(
  String.raw`^${priority}(?<timereported>[A-Z][a-z]{2} [\d ]\d \d\d:\d\d:\d\d) (?:(?<hostname>${host}) )?(?<appname>[^\s:[\]]{1,48})(?:\[(?<procid>[^\s\]]{1,128})\])?:(?: |$)`,
)
/** Structured data has parameters. Bare text in brackets, such as a level, belongs to the message of a sender that leaves structured data out. */
const structured = /^(?:\[[^\s\]="]{1,64}(?: [^\s\]="]{1,64}="(?:[^"\\\]]|\\.)*")+\]){1,16}(?: |$)/
const nothing = /^-(?: |$)/
/** How many characters are searched for structured data: a regex loop exhausts the stack at some megabytes. */
const structuredCharactersMax = 8_192

type Header = Readonly<Record<string, string | undefined>>

/** Heroku leaves structured data out (devcenter.heroku.com, "Log Drains"), and has no message ids. */
const isOfHeroku = ({ hostname, appname, msgid }: Header): boolean =>
  hostname === 'host' && (appname === 'app' || appname === 'heroku') && msgid === '-'

/** A line may have no tag. A level, or the message id of a Cisco device, then stands in its place. */
function oldHeaderOf(text: string): RegExpExecArray | null {
  const found = ofOldSyslog.exec(text)
  const tag = found?.groups?.['appname']
  return tag === undefined || tag.startsWith('%') || levelByName(tag) !== undefined ? null : found
}

function headerOf(text: string): RegExpExecArray | null {
  return /^[\d<]/.test(text) ? (ofSyslog.exec(text) ?? ofForwarder.exec(text) ?? oldHeaderOf(text)) : null
}

/** The fields of a line of text: its header, under the names that shippers use, and the rest as `message`. */
export function fieldsOfLine(text: string): JsonObject {
  const ofContainer = fromRuntime(text)
  if (ofContainer !== undefined) {
    return { time: ofContainer.time, stream: ofContainer.stream, message: ofContainer.text }
  }
  const spring = springLineOf(text)
  if (spring !== undefined) return fieldsOfSpringLine(spring)
  const found = headerOf(text)
  return found?.groups === undefined ? { message: text } : withHeader(found.groups, text.slice(found[0].length))
}

function withHeader(header: Header, rest: string): JsonObject {
  const fields: Record<string, Json> = {}
  for (const [name, value] of Object.entries(header)) if (value !== undefined && value !== '-') fields[name] = value
  const [before = ''] =
    header['msgid'] === undefined || isOfHeroku(header)
      ? []
      : (nothing.exec(rest) ?? structured.exec(rest.slice(0, structuredCharactersMax)) ?? [])
  const data = before.trim()
  if (data !== '' && data !== '-') fields['structured_data'] = data
  return { ...fields, message: rest.slice(before.length).replace(/^\uFEFF/, '') }
}
