import { withoutColours } from '#src/events/tokens.ts'
import type { Level } from '#src/events/telemetry.ts'
import { levelByName, levelBySyslog } from './level.ts'
import { ofRuntime } from './runtime.ts'

// Where programs write the level in a line of text. `docker logs` and log files hold such lines, and shippers send them as a message alone.

const words =
  `trace|trc|trce|verbose|debug|dbg|dbug|info|inf|information|notice|warn|warning|wrn|error|err|fail|severe|critical|crit
  |alert|emerg|emergency|fatal|ftl|panic`.replaceAll(/\s/g, '')
/** Spelled letter by letter: V8 forgets the flag of `(?i:…)` once a process has compiled a megabyte of regular expressions. */
const inAnyCase = (text: string): string => text.replaceAll(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`)
const anyCase = inAnyCase(words)
/** TRACE before a path is an HTTP method. */
const capitals = `${words.toUpperCase()}|FINE|FINER|FINEST|ERRO|FATA|PANI|DEBU|DEBG|TRAC`.replace(
  'TRACE',
  'TRACE(?! /)',
)

/** How a time ends: 09:46:42,080, +0100, an epoch or Z, perhaps with a process number behind it; a zone; AM. */
const time = String.raw`(?:[:.,+-]\d+|\d{10}|\dZ)(?: \d+)?|:\d\d[.\d]* [A-Z]{3,4}|\d\s?[AP]M`
/**
 * What stands before a level: the beginning, a time, or the name of a thread or logger with a mark after it. Inside a sentence it is just a word.
 * The level's first character is tested first: otherwise each of 256 blanks would test the 32 before it, which took half a millisecond.
 */
const behind = String.raw`(?=[A-Za-z[<])(?<=(?:^|[\])}>[<|:;#]|(?:^|\s)-\s|${time})\s{0,32})`

const behindForms: readonly string[] = [
  // ERROR: Java, Python, Rust, PostgreSQL, Serilog, zerolog
  String.raw`(${capitals})(?!\w|[.-]\w|=)`,
  // LOG [Shop]: NestJS
  String.raw`(LOG) \[`,
  // [error]: nginx, Envoy, Elixir; [core:error]: Apache; [warning  ]: structlog; [Note]: MariaDB
  String.raw`[[<](?:\w+:)?(${anyCase}|Note)\s{0,32}[\]>]`,
  // error: .NET's console, npm, compilers. If it is indented, or has a bare value behind it, it is a field of a printed object.
  String.raw`(?<!^\s+)(?!${inAnyCase('alert')})(${anyCase}):(?=\s|$)(?!\s+(?:null|undefined|[Nn]one|[Tt]rue|[Ff]alse|\d+|[[{(])[,;]?\s*$)`,
]

/** A number, perhaps with a unit: `error: 0.5 %` is a measurement, not an error. */
const measured = String.raw`-?\d+(?:\.[\de+-]+)?\s?(?:%|[a-zµ]{1,2})?[,;]?\s*$|-?\d+\.[\de+-]+[,;]`

const forms: readonly string[] = [
  // logfmt (logrus, slog, go-kit): level=error
  String.raw`(?<=^|[\s,;({[|"'])(?:log\.?)?(?:level|lvl|severity)=["']?(${anyCase})\b`,
  `${behind}(?:${behindForms.join('|')})`,
  // my.module ERROR behind a time: Python, log4j's own status lines
  String.raw`[.,]\d{3,9}(?:Z|[+-]\d\d:?\d\d)? {1,32}[\w.$-]+ {1,32}(${capitals})(?= )`,
  // shop@orders ERROR:  PostgreSQL with any prefix
  String.raw`(?<=^|\s)(${capitals}|LOG): {2}`,
  // 2026-11-29 09:46:42.080 UTC,"app","shop",…,ERROR,42P01,: PostgreSQL's CSV, after `blankQuoted` has emptied the quoted values
  String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [\w+-]{1,8}(?:,[^,]{0,64}){10},(${capitals}|LOG),[\dA-Z]{5},`,
  // debug1: OpenSSH; DEBUG2: the level names of OpenTelemetry
  String.raw`^(debug|DEBUG)[1-5]: `,
  // between tabs: zap's console
  String.raw`\t(${anyCase})\t`,
  // production.ERROR: Monolog's lines
  String.raw`\]\s[\w-]+\.(${capitals}):`,
  // PHP Fatal error:
  String.raw`(?<=^|\s)PHP (?:\w+ )?(${anyCase}):`,
  // E1129 09:46:42.080000: klog, glog; since glog 0.6 and in CockroachDB with the year
  String.raw`(?<=^|\s)([IWEF])(?:\d\d|\d{4})?\d{4} \d\d:\d\d:\d\d`,
  // pid=7 tid=2mv class=PayJob jid=0b1c ERROR: Sidekiq
  String.raw`(?<=^|\s)pid=\d+ tid=\w+(?: \w+=\S+){0,8} (${capitals}):`,
  // E, [2026-11-29T09:46:42: Ruby
  String.raw`^([DIWEF]), \[`,
  // 1:M 29 Nov 2026 09:46:42.080 * : Redis, Valkey
  String.raw`^\d+:[CMSX] \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} ([.*#-]) `,
  // 2026-11-29 09:46:42.080123 E [7:puma] Orders -- declined: Rails' semantic_logger
  String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,9} ([TDIWEF]) \[\d{1,10}:[^\]\n]{1,100}\] `,
  // [System] [MY-010931]: MySQL
  String.raw`(?<=\s)\[(System)\] \[MY-\d`,
  // 09:46:42.080 request_id=F1 [info]: Phoenix, with metadata before the level
  String.raw`^\d\d:\d\d:\d\d\.\d{3} (?:\w+=\S+ ){1,8}\[(${anyCase})\] `,
  // 2026-11-29T09:46:42+0000 error shop.orders: [App]: Swift
  String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} (${words}) [\w.-]+ ?:.{0,128}? \[\w+\] `,
  // 2026-11-29 09:46:42.080123 W | etcdserver: etcd before 3.5
  String.raw`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} ([CEWNIDT]) \| `,
  // 2026/11/29 09:46:42 cmd/web.go:242:runWeb() [I]: Gitea, Forgejo
  String.raw`^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d (?:[^\s:]+:\d+:\S+ )?(?:\[[\da-f-]{8,}\] )?\[([TDIWECF])\] `,
  // fatal error: all goroutines are asleep: Go's runtime, and compilers
  String.raw`^(fatal) error: `,
  // thread 'main' panicked at src/main.rs: Rust, since 1.89 with a number behind the name
  String.raw`^\s?thread '[^']{1,64}' (?:\(\d+\) )?(panic)ked at `,
  // at=error code=H12: Heroku's router
  String.raw`^at=(${words}) `,
  // (node:7) UnhandledPromiseRejectionWarning: Node before 15
  String.raw`^(?:\(node:\d{1,9}\) )?UnhandledPromise(Rejection)Warning: `,
  // Uncaught TypeError: x is undefined; java.lang.IllegalStateException: closed: errors that nobody caught, and warnings, as runtimes print them
  String.raw`^(?!(?:[Hh]as|[Ii]s|[Nn]o)[A-Z]\w{0,64}: (?:[Tt]rue|[Ff]alse)\b)(?:Uncaught |Unhandled |\(node:\d{1,9}\) (?:\[\w{1,16}\] )?)?(?:[\w$]{1,64}(?:\.|::|\\)){0,16}(?=[A-Z])\w{0,64}(Error|Exception|Warning): (?=\S)(?!\s*(?:null|undefined|[Nn]one|[Tt]rue|[Ff]alse|[[{(])[,;]?\s*$)(?!\s*(?:${measured}))`,
  // /srv/shop/pay.py:7: DeprecationWarning: use charge(): Python's warnings
  String.raw`^(?:[A-Z]:)?[^\s:][^:\n]{0,200}:\d{1,7}: (?=[A-Z])\w{0,64}(Warning): (?=\S)`,
  // Python, Java, .NET
  String.raw`^(Traceback) \(most recent call last\):`,
  String.raw`^(Exception) in thread "`,
  String.raw`^Unhandled (exception)(?:\.|:) `,
  // ** (RuntimeError) declined: Elixir
  String.raw`^\*\* \([A-Z][\w.]{0,128}(Error)\) `,
  // 2026-11-29T09:46:42Z E! [outputs.http]: Telegraf
  String.raw`^\d{4}-\d\d-\d\dT\S{9,20} ([EWID])! `,
  // ⨯ Error, ⚠ Warning: Next.js
  String.raw`^ ?([⨯⚠]) \S`,
  // Nov 29, 2026 9:46:42 AM com.acme.Shop main, then SEVERE: on the next line: java.util.logging
  String.raw`\d\s[AP]M \S+ \S+\n(${capitals}|CONFIG):`,
]
const inText = new RegExp(forms.join('|'))

/** A JSON record that its shipper has not parsed. */
const inJson = /"(?:log\.?)?(?:level|lvl|severity|levelname|severity_text)"\s*:\s*"([a-z]{1,32})"/i

/** Levels written short: by .NET's console logger and logrus (four letters), MariaDB, MySQL and etcd, and the marks of Redis and Next.js. */
const shortened: Readonly<Record<string, Level>> = {
  trac: 'trace',
  note: 'info',
  system: 'info',
  '.': 'debug',
  '-': 'debug',
  '*': 'info',
  '#': 'warn',
  n: 'info',
  c: 'fatal',
  '⚠': 'warn',
  '⨯': 'error',
  fail: 'error',
  exception: 'error',
  traceback: 'error',
  rejection: 'error',
  fata: 'fatal',
  pani: 'fatal',
}

/** How many characters are searched. What stands later comes from the program, not from its logger. */
const headCharacters = 256

/** Text in quotes, such as the address and user agent in an access log, is not the logger's own. */
const quoted = /"(?:[^"\\]|\\.)*"?/g
const blankQuoted = (head: string): string => head.replaceAll(quoted, (text) => (/^"\w*"$/.test(text) ? text : '""'))

/**
 * Syslog's priority before a time (RFC 5424 §6.2.1, RFC 3164 §4.1.1), perhaps behind the line's length (RFC 6587 §3.4.1). It may be the same for all
 * lines of a program.
 */
const ofSyslog = /^(\d{1,7} )?<(\d{1,3})>(?:(?:1 )?\d{4}-\d\d-\d\dT|[A-Z][a-z]{2} [\d ]\d \d\d:\d\d:\d\d )/
const levelOfSyslogLine = (head: string): Level | undefined => {
  const [, framed, priority] = ofSyslog.exec(head) ?? []
  if (priority === undefined || Number(priority) > 191) return undefined
  const severity = Number(priority) % 8
  // Heroku marks events of a program's life, such as its start, as emergencies.
  return framed !== undefined && severity === 0 ? undefined : levelBySyslog(severity)
}

/** The level that a logger wrote into a line of text; undefined if there is none. */
export function levelInText(message: string): Level | undefined {
  const head = withoutColours(message.slice(0, headCharacters)).replace(ofRuntime, '')
  // In a JSON line the level is read like a field: abbreviations of text lines would be arbitrary words there.
  if (/^\s*\{/.test(head)) return levelByName(inJson.exec(head)?.[1])
  const found = inText
    .exec(blankQuoted(head))
    ?.slice(1)
    .find((word) => word !== undefined)
  if (found === undefined) return /^[\d<]/.test(head) ? levelOfSyslogLine(head) : undefined
  return shortened[found.toLowerCase()] ?? levelByName(found)
}
