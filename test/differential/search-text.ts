import type { Random } from '../support/random.ts'
import {
  fieldNames,
  numberFields,
  numbers,
  operations,
  sentence,
  services,
  sessionIds,
  spanIds,
  statuses,
  traceIds,
  words,
} from './pools.ts'

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`

const plainWord = (random: Random): string =>
  random.chance(0.03) ? random.pick(['many', 'rare7', 'rare*', 'rare1250']) : random.pick(words)
const piece = (random: Random): string => random.pick(words).replaceAll(/[\s"()|]/g, '')

const unspacedWildcards = [
  ...['*支付*', '*支*', '支付*', '*付失*', '支*败', '支?失*', '*支付', '?败', '*付v1*', 'v1支*', '*v1支*', '支*v?失*'],
  ...['*東*', '東?タ*ー', '*ไทย*', 'ประ*ไทย', '*เท*', '*が失*', '*문 실*', '주*', '支-*败*', '*支.付*'],
]

/** A word with something of it left open. */
function wildcard(random: Random): string {
  if (random.chance(0.3)) return random.pick(unspacedWildcards)
  const characters = Array.from(piece(random))
  const at = random.below(characters.length + 1)
  const forms = [
    () => `${characters.slice(0, at).join('')}*`,
    () => `*${characters.slice(at).join('')}`,
    () => `*${characters.slice(at, at + 3).join('')}*`,
    () => characters.map((character, index) => (index === at ? '?' : character)).join(''),
    () => `${characters.slice(0, 2).join('')}*${characters.slice(-2).join('')}`,
  ]
  return random.pick(forms)()
}

const regexes = [
  ...[
    '/time.*/',
    '/[a-z]+out/',
    '/v[0-9]/',
    '/(paid|failed)/',
    '/m.ller/',
    '/\\d{3}/',
    '/\\p{Lu}+/',
    '/[^a-z0-9]+/',
    '/支.*/',
  ],
  ...[
    '/ord(er)?s?/',
    '/.*/',
    '/x{60,}/',
    '/[\\u4e00-\\u9fff]/',
    '/(/',
    '/a{2000}/',
    '/(?=x)/',
    '/\\w+\\.\\w+/',
    '/\\//',
    '//',
  ],
  // What the index puts beside words is no word.
  ...['/./', '/[^a-z]/', '/[^x]{3}/', '/=.*/', '/~?/', '/.{5}/', '/-?[0-9.]+%?/', '/\\W+/'],
]

const spanNames = [
  'http.response.status_code',
  'url.path',
  'operation',
  'name',
  'kind',
  'status',
  'duration',
  'parent_span_id',
  'region',
]
const narrowed = [
  'resource.region',
  'resource.service.name',
  'scope.scope.name',
  'event.exception.message',
  'span.url.path',
  'event.event.name',
]
const logNames = [
  'level',
  'service',
  'message',
  'msg',
  'log',
  'source',
  'trace_id',
  'span_id',
  'session_id',
  'context',
  'session.id',
  '@timestamp',
]

const fieldName = (random: Random): string => {
  const name = random.pick(random.pick([fieldNames, fieldNames, spanNames, narrowed, logNames, logNames]))
  if (!/^[\p{L}_@$][^\s:=#"()<>|!*?·]*$/u.test(name)) return quoted(name)
  return random.chance(0.1) ? `@${name}` : random.chance(0.1) ? name.toUpperCase() : name
}

const quantity = (random: Random): string =>
  random.chance(0.8)
    ? random.pick(numbers)
    : random.pick(['200ms', '1.5s', '1h30m', '10kb', '1MiB', '0', 'x', '-0', '0x10', '50%', '+5', '5.'])

const value = (random: Random): string =>
  random.pick([
    () => piece(random),
    () => quoted(random.pick([...words, ...services, ...operations, ...sessionIds])),
    () => quantity(random),
    () =>
      random.pick([...traceIds, ...spanIds, 'info', 'warn', 'error', 'rum', 'server', 'true', 'null', 'eu', '東京']),
    () => quoted(sentence(random, 3)),
  ])()

/** Numbers between bounds, which are often among them. */
function rangeClause(random: Random): string {
  const name = random.chance(0.7) ? random.pick(numberFields) : fieldName(random)
  const bound = (): string => (random.chance(0.5) ? random.pick(statuses) : quantity(random))
  if (random.chance(0.5)) return `${name}${random.pick(['>', '>=', '<', '<='])}${bound()}`
  const [open, close] = [random.pick(['[', '{']), random.pick([']', '}'])]
  return `${name}:${open}${random.pick(['*', bound()])} TO ${random.pick(['*', bound(), bound()])}${close}`
}

/** What may stand behind a field's name. */
function fieldClause(random: Random): string {
  const name = fieldName(random)
  const forms = [
    () => `${name}:${value(random)}`,
    () => `${name}:${value(random)}`,
    () => `${name}=${value(random)}`,
    () => `${name}!=${value(random)}`,
    () => `${name}:*`,
    () => `_exists_:${name}`,
    () => `${name}:${wildcard(random)}`,
    () => `${name}:${random.pick(regexes)}`,
    () => `${name}:(${value(random)} OR ${value(random)})`,
    () => `${name}=(${value(random)} ${value(random)})`,
  ]
  return random.pick(forms)()
}

const levelClause = (random: Random): string =>
  random.pick([
    'level>=warn',
    'level<error',
    'level:[info TO error]',
    'level:{debug TO *]',
    'severity>warn',
    'level:WARNING',
    'level!=info',
  ])

function clause(random: Random): string {
  const forms = [
    () => plainWord(random),
    () => plainWord(random),
    () => quoted(sentence(random, 3)),
    () => quoted(`${random.pick(words)} ${random.pick(words)}`),
    () => wildcard(random),
    () => random.pick(regexes),
    () => fieldClause(random),
    () => fieldClause(random),
    () => fieldClause(random),
    () => rangeClause(random),
    () => levelClause(random),
  ]
  return random.pick(forms)()
}

/** As deep, or as long, as a search may be, and beyond. */
function largeText(random: Random): string {
  const size = 20 + random.below(20)
  const kind = random.below(4)
  if (kind === 0) return Array.from({ length: size * 3 }, () => plainWord(random)).join(' OR ')
  if (kind === 1) return Array.from({ length: size }, () => wildcard(random)).join(' OR ')
  if (kind === 2) return quoted(`${random.pick(words)} ${random.pick(words)} `.repeat(size))
  let text = plainWord(random)
  for (let depth = 0; depth < size; depth++)
    text = depth % 2 === 0 ? `(${text} ${clause(random)})` : `NOT (${text} OR ${clause(random)})`
  return text
}

/** A search: any sentence of the language, and now and then one that is none. */
export function searchText(random: Random, depth = 0): string {
  if (depth === 0 && random.chance(0.02)) return largeText(random)
  if (depth > 1 || random.chance(0.55)) return clause(random)
  const part = (): string => searchText(random, depth + 1)
  const forms = [
    () => `${part()} ${part()}`,
    () => `${part()} ${random.pick(['OR', 'or', '||'])} ${part()}`,
    () => `${part()} ${random.pick(['AND', 'and', '&&'])} ${part()}`,
    () => `${random.pick(['-', '!', 'NOT ', 'not '])}${part()}`,
    () => `(${part()})`,
    () => `${part()} -${clause(random)}`,
  ]
  const made = random.pick(forms)()
  return depth === 0 && random.chance(0.04) ? `${made}${random.pick([' |', ' | stats', '"', ' OR', ')', ' ('])}` : made
}
