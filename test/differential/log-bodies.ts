import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { encode, ExtData } from '@msgpack/msgpack'
import { formatTimeNs } from '#src/lib/time.ts'
import type { Random } from '../support/random.ts'
import {
  anySessionId,
  anyText,
  anyTimeNs,
  anyTraceId,
  fieldNames,
  numbers,
  sentence,
  services,
  spanIds,
  statuses,
} from './pools.ts'

export type Body = Readonly<{ headers: Readonly<Record<string, string>>; bytes: Uint8Array }>

/** JSON text of a string, now and then with escapes where none are needed, as some encoders write them. */
function jsonText(random: Random, text: string): string {
  if (!random.chance(0.1)) return JSON.stringify(text)
  const escaped = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'))
  return `"${escaped.map((code) => `\\u${code}`).join('')}"`
}

/** JSON text of a value of any shape. */
function anyValue(random: Random, depth = 0): string {
  const kind = random.below(depth > 2 ? 8 : 11)
  if (kind < 4) return jsonText(random, anyText(random))
  if (kind < 6) return random.pick(numbers)
  if (kind === 6) return random.pick(['true', 'false', 'null'])
  if (kind === 7) return jsonText(random, random.pick(numbers))
  const length = random.below(4)
  if (kind === 8) return `[${Array.from({ length }, () => anyValue(random, depth + 1)).join()}]`
  return objectOf(Array.from({ length }, () => [random.pick(fieldNames), anyValue(random, depth + 1)] as const))
}

const objectOf = (members: readonly (readonly [string, string])[]): string =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`

/** A time in one of the forms that senders use; sometimes none that is understood. */
function timeText(random: Random): string {
  const timeNs = anyTimeNs(random)
  const forms = [
    () => JSON.stringify(formatTimeNs(timeNs)),
    () => JSON.stringify(formatTimeNs(timeNs).replace(/\d{6}Z$/, '+02:00')),
    () => String(timeNs / 1_000_000n),
    () => String(timeNs / 1_000n),
    () => String(timeNs),
    () => JSON.stringify(String(timeNs)),
    () =>
      `${timeNs / 1_000_000_000n}.${String(timeNs % 1_000_000_000n)
        .replace('-', '')
        .padStart(9, '0')}`,
  ]
  return random.chance(0.04)
    ? random.pick(['"soon"', 'null', '""', '{}', '"2026-02-30T00:00:00Z"', '-1'])
    : random.pick(forms)()
}

const timeNames = ['timestamp', 'timestamp', '@timestamp', 'time', 'ts', 'dt', 'timeUnixNano']
const messageNames = ['message', 'message', 'msg', 'body', 'log', 'text', 'event']
const levelValues = [
  '"info"',
  '"WARN"',
  '"warning"',
  '"Error"',
  '"fatal"',
  '"dbg"',
  '"trace"',
  '30',
  '50',
  '17',
  '"50"',
  '"odd"',
  'null',
]

function traceText(random: Random): readonly (readonly [string, string])[] {
  const traceId = anyTraceId(random)
  const spanId = random.pick(spanIds)
  const forms: readonly (readonly (readonly [string, string])[])[] = [
    [
      ['trace_id', `"${traceId}"`],
      ['span_id', `"${spanId}"`],
    ],
    [['traceId', `"${traceId.toUpperCase()}"`]],
    [['traceparent', `"00-${traceId}-${spanId}-01"`]],
    [['trace', `{"id":"${traceId}"}`]],
    [['trace_id', `"${traceId.slice(16)}"`]],
    [['trace_id', '"none"']],
    [['dd.trace_id', '"1234567890123456789"']],
  ]
  return random.pick(forms)
}

/** One record as JSON text. Most name their time, so that little depends on when they arrive. */
function logRecord(random: Random): string {
  const members: (readonly [string, string])[] = [[random.pick(timeNames), timeText(random)]]
  if (random.chance(0.95))
    members.push([
      random.pick(messageNames),
      random.chance(0.95) ? jsonText(random, anyText(random)) : anyValue(random),
    ])
  if (random.chance(0.8))
    members.push([random.pick(['level', 'severity', 'lvl', 'severity_text', 'log.level']), random.pick(levelValues)])
  if (random.chance(0.8))
    members.push([
      random.pick(['service', 'service.name', 'app']),
      jsonText(
        random,
        random.chance(0.96) ? random.pick(services) : random.pick([anyText(random), 'long '.repeat(2_000)]),
      ),
    ])
  if (random.chance(0.4)) members.push(...traceText(random))
  if (random.chance(0.3))
    members.push([random.pick(['session_id', 'sessionId', 'session.id']), JSON.stringify(anySessionId(random))])
  if (random.chance(0.5)) members.push(['status', random.pick(statuses)])
  if (random.chance(0.3)) members.push(['size', random.pick(numbers)])
  for (let more = random.below(6); more > 0; more--) members.push([random.pick(fieldNames), anyValue(random)])
  return objectOf(random.chance(0.2) ? members.reverse() : members)
}

/** What programs print, as shippers send it: a line of JSON or one that a logger wrote, beside what is known of its container. */
function printedRecord(random: Random): string {
  const printed = random.chance(0.5) ? logRecord(random) : printedLine(random)
  const members: (readonly [string, string])[] = [
    ['log', JSON.stringify(`${printed}\n`)],
    ['time', timeText(random)],
    ['kubernetes', `{"container_name":${JSON.stringify(random.pick(services))}}`],
  ]
  return objectOf(members)
}

const printedLine = (random: Random): string =>
  `2026-11-29 09:46:42,080 ${random.pick(['ERROR', '[warning]', 'level=debug'])} trace_id=${anyTraceId(random)} ${sentence(random)}`

const badRecords = ['7', '"text"', 'null', '[]', '{}', 'true', '{"message":""}', '[{"message":"nested"}]']
const brokenLines = ['{"message":"cut', 'plain text', '{"a":1}}', '\u0000', '{"a":01}']

function jsonRecords(random: Random, most: number): readonly string[] {
  return Array.from({ length: 1 + random.below(most) }, () =>
    random.chance(0.06) ? random.pick(badRecords) : random.chance(0.1) ? printedRecord(random) : logRecord(random),
  )
}

function eventTime(timeNs: bigint): ExtData {
  const data = Buffer.alloc(8)
  data.writeUInt32BE(Number(BigInt.asUintN(32, timeNs / 1_000_000_000n)), 0)
  data.writeUInt32BE(Number(BigInt.asUintN(30, timeNs)) % 1_000_000_000, 4)
  return new ExtData(0, data)
}

/** What MessagePack can say and JSON cannot: integers of 64 bits, bytes, NaN, -0. */
const packedValues = [
  1n << 63n,
  -(1n << 63n),
  Number.NaN,
  Infinity,
  -0,
  Uint8Array.of(104, 105),
  Uint8Array.of(255, 0),
  2.5e-8,
  null,
  true,
]

function packedRecord(random: Random): Record<string, unknown> {
  return {
    message: anyText(random).toWellFormed(),
    level: random.pick(['info', 'error', 40]),
    [random.pick(fieldNames)]: random.pick(packedValues),
    tags: [sentence(random, 2).toWellFormed(), random.below(9)],
  }
}

function packed(random: Random): Uint8Array {
  const options = { useBigInt64: true }
  const records = Array.from({ length: 1 + random.below(6) }, () => packedRecord(random))
  if (random.chance(0.5)) {
    return encode(
      records.map((record) => ({ ...record, dt: formatTimeNs(anyTimeNs(random)) })),
      options,
    )
  }
  return Buffer.concat(records.map((record) => encode([eventTime(anyTimeNs(random)), record], options)))
}

const lines = (random: Random): string =>
  Array.from({ length: 1 + random.below(6) }, () =>
    (random.chance(0.3) ? printedLine(random) : sentence(random)).replaceAll(/[\r\n]/g, ' '),
  ).join(random.pick(['\n', '\r\n']))

type Form = readonly [contentType: string | undefined, body: string | Uint8Array]

const forms: readonly ((random: Random) => Form)[] = [
  (random) => ['application/json', logRecord(random)],
  (random) => ['application/json; charset=utf-8', `\ufeff[${jsonRecords(random, 90).join()}]`],
  (random) => ['application/json', `{"logs":[${jsonRecords(random, 60).join(' , ')}]}`],
  (random) => ['application/json', `{"events":[${jsonRecords(random, 20).join()}],"service":"outside"}`],
  (random) => [undefined, `[${jsonRecords(random, 60).join('\n,')}]`],
  (random) => {
    const records = jsonRecords(random, 90).map((record) => (random.chance(0.04) ? random.pick(brokenLines) : record))
    return [
      random.pick(['application/x-ndjson', 'application/jsonl', undefined]),
      `${records.join(random.pick(['\n', '\r\n', '\n\n']))}\n`,
    ]
  },
  (random) => ['application/msgpack', packed(random)],
  (random) => ['text/plain', lines(random)],
  (random) => [
    'application/x-www-form-urlencoded',
    String(new URLSearchParams({ msg: anyText(random), levelname: 'WARNING', created: '1790000000.25' })),
  ],
  (random) => ['application/json', random.pick(['[]', '', 'nonsense', '[1,2]', '{"logs":[]}', '[{"message":"cut"'])],
]

const codings: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

/** A body of the log ingest in any of its forms. */
export function logBody(random: Random, number: number): Body {
  const [contentType, body] = (forms[number % forms.length] ?? random.pick(forms))(random)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const coding = random.chance(0.3) ? random.pick(Object.keys(codings)) : undefined
  return {
    headers: {
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(coding === undefined ? {} : { 'content-encoding': coding }),
    },
    bytes: coding === undefined ? bytes : (codings[coding]?.(bytes) ?? bytes),
  }
}
