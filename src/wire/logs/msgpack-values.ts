import type { Json, JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import type { MsgpackReader } from './msgpack.ts'

/**
 * Decodes MessagePack into values that JSON can hold. It is our own code because log fields need what a general decoder refuses or loses: keys such
 * as `__proto__`, strings that are not UTF-8, and 64-bit integers, which become bigint only if a double cannot hold them. Bytes become base64,
 * EventTime and timestamps RFC 3339, other extensions `{ext, data}`, NaN and Infinity text.
 */
interface MsgpackValues {
  /** The value at `at`. The reader must have found it whole, and its depth must have been checked: decoding recurses. */
  decode(at: number): Json
  /** Nanoseconds of the EventTime (ext 0, Fluentd forward protocol v1) or timestamp (ext -1) at `at`; else undefined. */
  time(at: number): bigint | undefined
}

export function createMsgpackValues(bytes: Uint8Array, reader: MsgpackReader): MsgpackValues {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  /** Where the last decoded value ended, and the next one begins. */
  let after = 0
  /** How many keys enclose the value that is being decoded. */
  let keysOpen = 0

  const decode = (at: number): Json => {
    const { kind, next, size } = reader.head(at)
    after = next + size
    if (kind === 'text') return buffer.toString('utf8', next, after)
    if (kind === 'integer') return integer(view, at)
    if (kind === 'map') return decodeMap(next, size)
    if (kind === 'array') return decodeArray(next, size)
    if (kind === 'float') return finite(float(view, at))
    if (kind === 'boolean') return bytes[at] === 0xc3
    if (kind === 'bytes') return buffer.toString('base64', next, after)
    return kind === 'ext' ? ext(next, size) : null
  }

  const decodeArray = (next: number, size: number): Json => {
    const items: Json[] = []
    after = next
    for (let index = 0; index < size; index++) items.push(decode(after))
    return items
  }

  const decodeMap = (next: number, size: number): JsonObject => {
    const map = Object.create(null) as Record<string, Json>
    after = next
    for (let index = 0; index < size; index++) {
      const name = decodeKey()
      map[name] = decode(after)
    }
    return map
  }

  const decodeKey = (): string => {
    keysOpen++
    const key = decode(after)
    keysOpen--
    if (typeof key !== 'object' || key === null) return String(key)
    return keysOpen === 0 ? keyText(key) : keyInKey
  }

  const ext = (next: number, size: number): Json => {
    const time = extTime(view, next, size)
    if (time !== undefined) return timeText(time)
    return { ext: view.getInt8(next - 1), data: buffer.toString('base64', next, next + size) }
  }

  const time = (at: number): bigint | undefined => {
    const { kind, next, size } = reader.head(at)
    return kind === 'ext' ? extTime(view, next, size) : undefined
  }

  return { decode, time }
}

function integer(view: DataView, at: number): number | bigint {
  const byte = view.getUint8(at)
  if (byte < 0x80) return byte
  if (byte >= 0xe0) return byte - 0x100
  return byte < 0xd0 ? unsigned(view, byte, at + 1) : signed(view, byte, at + 1)
}

function unsigned(view: DataView, byte: number, at: number): number | bigint {
  if (byte === 0xcc) return view.getUint8(at)
  if (byte === 0xcd) return view.getUint16(at)
  return byte === 0xce ? view.getUint32(at) : exact(view.getBigUint64(at))
}

function signed(view: DataView, byte: number, at: number): number | bigint {
  if (byte === 0xd0) return view.getInt8(at)
  if (byte === 0xd1) return view.getInt16(at)
  return byte === 0xd2 ? view.getInt32(at) : exact(view.getBigInt64(at))
}

const exact = (value: bigint): number | bigint =>
  value >= -9_007_199_254_740_991n && value <= 9_007_199_254_740_991n ? Number(value) : value

const float = (view: DataView, at: number): number =>
  view.getUint8(at) === 0xca ? view.getFloat32(at + 1) : view.getFloat64(at + 1)

/** JSON has no numbers for NaN and the infinities; the proto3 JSON mapping writes them as these texts. */
const finite = (value: number): number | string => (Number.isFinite(value) ? value : String(value))

const keyText = (key: Json): string =>
  JSON.stringify(key, (_name, item: unknown) => (typeof item === 'bigint' ? item.toString() : item))

/** Stands for a list or map that is a key inside a key: written as JSON within JSON, each level would double the escapes of the inner ones. */
const keyInKey = '…'

function extTime(view: DataView, next: number, size: number): bigint | undefined {
  const type = view.getInt8(next - 1)
  if (type === 0 && size === 8) return nanoseconds(view.getUint32(next), view.getUint32(next + 4))
  if (type !== -1) return undefined
  if (size === 4) return nanoseconds(view.getUint32(next), 0)
  if (size === 12) return view.getBigInt64(next + 4) * 1_000_000_000n + BigInt(view.getUint32(next))
  if (size !== 8) return undefined
  const both = view.getBigUint64(next)
  return (both & 0x3ffffffffn) * 1_000_000_000n + (both >> 34n)
}

const nanoseconds = (seconds: number, part: number): bigint => BigInt(seconds) * 1_000_000_000n + BigInt(part)

/** RFC 3339 in UTC with nanoseconds; for a year outside 0 to 9999 the number of nanoseconds. */
const timeText = (time: bigint): string =>
  time >= -62_167_219_200_000_000_000n && time < 253_402_300_800_000_000_000n ? formatTimeNs(time) : time.toString()
