/** Units by name, in nanoseconds and in bytes. `m` is minutes; sizes are decimal (`kb`) or binary (`KiB`). */
const durations: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  min: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
}
const sizes: Readonly<Record<string, bigint>> = {
  b: 1n,
  kb: 1_000n,
  mb: 1_000_000n,
  gb: 1_000_000_000n,
  tb: 1_000_000_000_000n,
  kib: 1n << 10n,
  mib: 1n << 20n,
  gib: 1n << 30n,
  tib: 1n << 40n,
}

export type Quantity = Readonly<{
  /** A decimal number in text: nanoseconds of a duration, bytes of a size. Equal numbers have equal text. */
  value: string
  unit: 'none' | 'duration' | 'size'
}>

const digitsMax = 40
const plain = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const part = /(\d+(?:\.\d+)?|\.\d+)([a-zµμ]+)/gi

/** A number (`400`, `-1.5`, `1e3`), a duration (`200ms`, `1.5s`, `1h30m`) or a size (`10kb`, `1MiB`); else undefined. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > digitsMax) return undefined
  if (plain.test(text)) return plainNumber(text)
  const sign = text.startsWith('-') ? -1n : 1n
  const body = text.replace(/^[+-]/, '')
  const parts = [...body.matchAll(part)]
  if (parts.length === 0 || parts.reduce((length, [found]) => length + found.length, 0) !== body.length)
    return undefined
  let total = 0n
  for (const [, number = '', name = ''] of parts) {
    const factor = ownFactor(durations, name === 'M' ? '' : name.toLowerCase())
    if (factor === undefined) return parts.length === 1 ? sizeOf(number, name, sign) : undefined
    total += scaled(number, factor)
  }
  return { value: unscaled(sign * total), unit: 'duration' }
}

const ownFactor = (table: Readonly<Record<string, bigint>>, name: string): bigint | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined

function sizeOf(number: string, name: string, sign: bigint): Quantity | undefined {
  const factor = ownFactor(sizes, name.toLowerCase())
  return factor === undefined ? undefined : { value: unscaled(sign * scaled(number, factor)), unit: 'size' }
}

function plainNumber(text: string): Quantity | undefined {
  if (/^[+-]?\d+$/.test(text)) return { value: BigInt(text.replace('+', '')).toString(), unit: 'none' }
  const number = Number(text) + 0
  return Number.isFinite(number) ? { value: String(number), unit: 'none' } : undefined
}

/** Numbers here carry this many decimals as integers, so that they stay exact. */
const decimals = digitsMax
const one = 10n ** BigInt(decimals)

function scaled(number: string, factor: bigint): bigint {
  const [whole = '', fraction = ''] = number.split('.')
  return BigInt(whole + fraction.padEnd(decimals, '0')) * factor
}

function unscaled(value: bigint): string {
  const magnitude = value < 0n ? -value : value
  const fraction = (magnitude % one).toString().padStart(decimals, '0').replace(/0+$/, '')
  const text = `${magnitude / one}${fraction === '' ? '' : `.${fraction}`}`
  const canonical = fraction === '' ? text : String(Number(text))
  return value < 0n ? `-${canonical}` : canonical
}

/** The value of a quantity's text: a number where a double holds it, else a bigint. */
export function numberOf(value: string): number | bigint {
  if (!/^-?\d+$/.test(value)) return Number(value)
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : BigInt(value)
}

/** A duration such as `200ms`, `1.5s`, `1h30m`, in whole nanoseconds; undefined when it is none, or has a sign. */
export function parseDurationNs(text: string): bigint | undefined {
  const quantity = /^[+-]/.test(text) ? undefined : parseQuantity(text)
  if (quantity?.unit !== 'duration') return undefined
  return /^\d+$/.test(quantity.value) ? BigInt(quantity.value) : BigInt(Math.trunc(Number(quantity.value)))
}
