import { withoutColours } from '#src/events/tokens.ts'
import type { Level } from '#src/events/telemetry.ts'
import { levelByName } from './level.ts'

// Where programs that write lines of text put the level of each: what `docker logs` and files of logs hold, which shippers send as a message
// and nothing else.

const words =
  `trace|trc|trce|verbose|debug|dbg|dbug|info|inf|information|notice|warn|warning|wrn|error|err|fail|severe|critical|crit
  |alert|emerg|emergency|fatal|ftl|panic`.replaceAll(/\s/g, '')
const anyCase = `(?i:${words})`
/** TRACE is also a method of HTTP, before a path. */
const capitals = `${words.toUpperCase()}|FINE|FINER|FINEST`.replace('TRACE', 'TRACE(?! /)')

/** What a level stands behind: the beginning, a time, the name of a thread or of a logger with a mark after it. In a sentence it is a word. */
const behind = String.raw`(?<=(?:^|[\])}>[({<|:;,#"'\d-]|\dZ|UTC|\d[AP]M)\s*)`

const forms: readonly string[] = [
  // logfmt (logrus, slog, go-kit): level=error
  String.raw`(?<=^|[\s,;({[|"'])(?:log\.?)?(?:level|lvl|severity)=["']?(${anyCase})\b`,
  // ERROR: Java, Python, Rust, PostgreSQL, Serilog, zerolog
  String.raw`${behind}(${capitals})(?!\w|[.-]\w)`,
  String.raw`${behind}(LOG): {2}`,
  // [error]: nginx, Envoy, Elixir; [core:error]: Apache
  String.raw`${behind}[[(<](?:\w+:)?(${anyCase})[\])>]`,
  // error: .NET's console, npm, compilers
  String.raw`${behind}(${anyCase}):(?=\s|$)`,
  // between tabs: zap's console
  String.raw`\t(${anyCase})\t`,
  // production.ERROR: Monolog's lines
  String.raw`\]\s[\w-]+\.(${capitals}):`,
  // E1129 09:46:42.080000: klog, glog
  String.raw`^([IWEF])\d{4} \d\d:\d\d:\d\d`,
  // E, [2026-11-29T09:46:42: Ruby
  String.raw`^([DIWEF]), \[`,
]
const inText = new RegExp(forms.join('|'))

/** A record as JSON that its shipper has not taken apart. */
const inJson = /"(?:log\.?)?(?:level|lvl|severity|levelname|severity_text)"\s*:\s*"([a-z]{1,32})"/i

/** Of .NET's console logger, which has four letters for each. */
const shortened: Readonly<Record<string, Level>> = { trce: 'trace', dbug: 'debug', fail: 'error' }

/** Characters from the beginning: what stands later was said by the program, not by its logger. */
const headCharacters = 256

/** The level that a line of text says of itself, where loggers write it; undefined where none does. */
export function levelInText(message: string): Level | undefined {
  const head = withoutColours(message.slice(0, headCharacters)).trimStart()
  const found = (head.startsWith('{') ? inJson : inText)
    .exec(head)
    ?.slice(1)
    .find((word) => word !== undefined)
  return found === undefined ? undefined : (shortened[found.toLowerCase()] ?? levelByName(found))
}
