import { hex } from '../support/telemetry.ts'
import type { Random } from '../support/random.ts'

// What telemetry and queries are both made of, so that most queries find something.

/** Everything that names its own time does so around here; times without one are those of arrival. */
export const baseNs = 1_790_000_000_000_000_000n
export const rangeNs = 7_200_000_000_000n
export const minuteNs = 60_000_000_000n

export const traceIds = Array.from({ length: 14 }, (_, number) => hex(32, 'trace', number))
export const spanIds = Array.from({ length: 40 }, (_, number) => hex(16, 'span', number))
export const sessionIds = ['s-1', 'S-2', 'Session drei', '会话-4', 'a:b/c?d', 's'.repeat(128)]
export const services = [
  'checkout',
  'Checkout',
  'orders-db',
  'orders_db',
  'web',
  'zahlung/eu',
  '支付',
  'a b',
  'q"uo\\te',
]
export const operations = ['GET /cart', 'POST /api/v1/orders', 'SELECT orders', 'publish order.paid', '支付 処理', '*']

/** Words and pieces of text: what tokenizers, folds and engines may take in different ways. */
export const words = [
  ...['timeout', 'Timeout', 'TIMEOUTS', 'connection_timeout_ms=500', 'order', 'orders', 'paid', 'failed', 'refused'],
  ...['/api/v1/orders?id=7', 'com.acme.Foo', 'java.lang.NullPointerException', '10.0.0.7:5432', 'http://a.example/x'],
  ...[
    '9f1c2d3e-0000-4000-8000-aabbccddeeff',
    'v1',
    '500',
    '-5',
    '1.5',
    '0x1F',
    'a_b-c.d',
    'it’s',
    "it's",
    'AND',
    'not',
  ],
  ...['Müller', 'MÜLLER', 'Mu\u0308ller', 'Muller', 'Straße', 'STRASSE', 'İstanbul', 'ΟΔΟΣ', 'οδός', 'ﬁn', 'naïve'],
  ...['STRAẞE', 'ıstanbul', 'i\u0307', 'ǅ', '\u212a', 'ſ', 'ŉ', 'ΐ'],
  ...[
    '1e3',
    '0x10',
    '-0',
    '9007199254740993',
    'v1.2.3',
    '::1',
    'fe80::1%eth0',
    '200ms',
    '1.5s',
    '10kb',
    '50%',
    '1,000',
  ],
  ...['9f1c2d3e000040008000aabbccddeeff', 'true', 'NULL', '-', '--', '👍', '✓ ok', 'nginx', 'rum', 'logs'],
  ...['ꮳꮃ', '𐐀', 'ｶﾞ', '각'.normalize('NFD'), 'x\u200by', 'a\u034fb'],
  ...['שלום עולם', 'مرحبا', '❤\ufe0f', '🇩🇪', '1\ufe0f\u20e3', '\u212b', 'Ǆ', 'h\u0331', 'x²', '0.30000000000000004'],
  ...[
    '支付失败',
    '支付',
    '失败',
    '用户支付v1失败',
    '注文が失敗しました',
    '주문 실패',
    'ประเทศไทย',
    '東京タワー',
    'Ｆｕｌｌ',
    '①',
    '٣٤',
    'हिन्दी',
    '𝒳𝒴',
    '👩‍👩‍👧',
    '☃',
  ],
  ...[
    '"quoted"',
    '*',
    '?',
    '\\',
    '(',
    ')',
    '{}',
    '[x]',
    '|',
    '&&',
    '~',
    '<b>',
    'a·b',
    '^x',
    '$',
    '=',
    '#',
    '%_',
    ';--',
  ],
] as const

/** Control characters, odd blanks, half characters, and marks without anything before them. */
export const oddities = [
  ...[
    '\u0000',
    '\u0001x',
    'a\tb',
    'a\nb',
    '\r\n',
    'a\u001fb',
    '\u007f',
    'a\u0085b',
    'a\u00a0b',
    'a\u2028b',
    'a\u3000b',
  ],
  ...[
    '\ud800',
    'x\udc00',
    '\ufeffx',
    '\ufffe',
    '\u0301',
    'e\u0301\u0323',
    '\u200bzero',
    '\u202eabc',
    '\u00ad',
    '\u{10ffff}',
  ],
]

export const fieldNames = [
  ...[
    'status',
    'http.status_code',
    'duration_ms',
    'size',
    'user',
    'user.name',
    'path',
    'tags',
    'nested',
    'source',
    'País',
    '字段',
  ],
  ...[
    'a b',
    'x:y',
    'k=v',
    'h#sh',
    '@at',
    '__proto__',
    'constructor',
    'UPPER',
    'upper',
    'q"n',
    'long'.repeat(40),
    '1st',
    'a·b',
  ],
  ...['', '.', 'a.', '.a', 'a..b', 'a[0]', '{x}', "a'b", 'a\\b', 'a,b', 'a*', 'NOT'],
  ...['é', 'e\u0301', 'İ', 'ß', 'SS', 'span.x', 'x'.repeat(300)],
  ...['ẞ', 'ı', 'ς', 'Ｆ', 'שם', '\u200f', '👩‍👩‍👧', '\u0301', 'a\u0000b', '\ud800', ' ', '@@at', '@', '-x', '>', '*'],
  ...['/x/', 'TO', 'has', '_exists_', 'a.b', 'a.b.c'],
]

/** Numbers at the edges, as JSON writes them. */
export const numbers = [
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '5',
    '-5',
    '200',
    '400',
    '404',
    '499',
    '500',
    '503',
    '0.5',
    '1.5',
    '-1.5',
    '1e3',
    '1E-7',
    '0.1',
  ],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9223372036854775807'],
  ...[
    '-9223372036854775808',
    '18446744073709551615',
    '123456789012345678901234567890',
    '1e308',
    '1e400',
    '-1e400',
    '5e-324',
  ],
  ...['0.1000000000000000055511151231257827', '1234567890.123456789', '100.0', '0.30000000000000004', '0.3'],
  ...['1.7976931348623157e308', '-1e308', '1e21', '1e22', '10000000000000000000000', '2e-324'],
]

/** Numbers that many records have, so that bounds of ranges meet them. */
export const statuses = ['200', '404', '499', '500', '503']
export const numberFields = ['status', 'size', 'http.response.status_code']

const chunk = (random: Random): string => (random.chance(0.06) ? random.pick(oddities) : random.pick(words))

export const sentence = (random: Random, most = 7): string =>
  Array.from({ length: 1 + random.below(most) }, () => chunk(random)).join(
    random.pick([' ', ' ', ' ', ', ', '=', '', '/']),
  )

/** A trace and a session that many share: their answers have several pages. */
export const anyTraceId = (random: Random): string => (random.chance(0.4) ? (traceIds[1] ?? '') : random.pick(traceIds))
export const anySessionId = (random: Random): string =>
  random.chance(0.4) ? (sessionIds[0] ?? '') : random.pick(sessionIds)

/** Words that stand nowhere else: more than a pattern may meet. */
export const rareWords = (from: number, count: number): string =>
  Array.from({ length: count }, (_, number) => `rare${from + number}`).join(' ')

/** A text as senders send it: mostly short, now and then empty, or beyond what a keyword, a token or a word may have. */
export function anyText(random: Random): string {
  const kind = random.below(40)
  if (kind === 0) return ''
  if (kind === 1) return `${sentence(random)} `.repeat(50 + random.below(900))
  if (kind === 2) return random.pick(['x', 'ß', '支', '𝒳', 'é']).repeat(60 + random.below(200))
  if (kind === 3) return ' '.repeat(1 + random.below(3))
  return sentence(random)
}

/** Midnight, when indexes begin another day. */
const midnightNs = 1_790_035_200_000_000_000n
const atMidnight = [midnightNs - 1n, midnightNs, midnightNs + 1n]

/** A time as nanoseconds: within the range, at full and broken units; about midnight; or anywhere at all. */
export function anyTimeNs(random: Random): bigint {
  if (random.chance(0.05)) {
    return random.pick([0n, 1n, -1n, 1_000_000_000n, 4_102_444_800_000_000_000n, 9_223_372_036_854_775_807n])
  }
  if (random.chance(0.05)) return random.pick(atMidnight)
  const unit = random.pick([1n, 1_000_000n, 1_000_000_000n, minuteNs, minuteNs])
  const offset = BigInt(random.below(7_200_000)) * 1_000_000n + BigInt(random.below(1_000_000))
  return baseNs + offset - (offset % unit)
}
