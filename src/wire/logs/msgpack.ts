/**
 * Reads MessagePack as bytes: checks the structure and finds where values are, without building any and without recursion. Source: the MessagePack
 * specification (2017-08-09).
 */
type MsgpackHead = {
  kind: 'nil' | 'boolean' | 'integer' | 'float' | 'text' | 'bytes' | 'ext' | 'array' | 'map' | 'broken'
  /** Index of the first byte after the head: of the payload, or of the first value inside. */
  next: number
  /** Number of payload bytes, array items, or map pairs. */
  size: number
}

/** Nesting beyond this is not followed: the value counts as broken there. */
const depthFollowedMax = 10_000

export interface MsgpackReader {
  /** The end of the value at `at`; a negative `~offset` if the value is broken or cut off there. */
  value(at: number): number
  /** How deep the value last read is nested: 0 for a scalar, 1 for an empty map. */
  depth(): number
  /** How many values all calls together have read, including keys and nested values. */
  values(): number
  /** The head of the value at `at`. The next call overwrites the returned object. */
  head(at: number): Readonly<MsgpackHead>
}

type Kind = MsgpackHead['kind']
/** Heads 0xc0 to 0xdf: kind, number of length bytes that follow, and the size if it is fixed. */
const heads: readonly (readonly [Kind, number, number])[] = [
  ['nil', 0, 0],
  ['broken', 0, 0],
  ['boolean', 0, 0],
  ['boolean', 0, 0],
  ['bytes', 1, 0],
  ['bytes', 2, 0],
  ['bytes', 4, 0],
  ['ext', 1, 0],
  ['ext', 2, 0],
  ['ext', 4, 0],
  ['float', 0, 4],
  ['float', 0, 8],
  ['integer', 0, 1],
  ['integer', 0, 2],
  ['integer', 0, 4],
  ['integer', 0, 8],
  ['integer', 0, 1],
  ['integer', 0, 2],
  ['integer', 0, 4],
  ['integer', 0, 8],
  ['ext', 0, 1],
  ['ext', 0, 2],
  ['ext', 0, 4],
  ['ext', 0, 8],
  ['ext', 0, 16],
  ['text', 1, 0],
  ['text', 2, 0],
  ['text', 4, 0],
  ['array', 2, 0],
  ['array', 4, 0],
  ['map', 2, 0],
  ['map', 4, 0],
]
const broken: readonly [Kind, number, number] = ['broken', 0, 0]

const remaining = new Float64Array(depthFollowedMax + 1)

export function createMsgpackReader(bytes: Uint8Array): MsgpackReader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const current: MsgpackHead = { kind: 'nil', next: 0, size: 0 }
  let deepest = 0
  let values = 0

  const set = (kind: Kind, next: number, size: number): MsgpackHead => {
    current.kind = next <= bytes.length ? kind : 'broken'
    current.next = next
    current.size = size
    return current
  }

  const length = (at: number, width: number): number => {
    if (at + width > bytes.length) return 0
    if (width === 1) return view.getUint8(at)
    return width === 2 ? view.getUint16(at) : view.getUint32(at)
  }

  const head = (at: number): MsgpackHead => {
    const byte = bytes[at]
    if (byte === undefined) return set('broken', at, 0)
    if (byte < 0x80 || byte >= 0xe0) return set('integer', at + 1, 0)
    if (byte < 0x90) return set('map', at + 1, byte & 0x0f)
    if (byte < 0xa0) return set('array', at + 1, byte & 0x0f)
    if (byte < 0xc0) return set('text', at + 1, byte & 0x1f)
    const [kind, width, fixed] = heads[byte - 0xc0] ?? broken
    const size = width === 0 ? fixed : length(at + 1, width)
    // An ext has its type byte between length and payload.
    return set(kind, at + 1 + width + (kind === 'ext' ? 1 : 0), size)
  }

  /** Moves past the head at `at`, and opens an array or a map. */
  const step = (at: number, open: number): number => {
    const { kind, next, size } = head(at)
    if (kind === 'broken') return ~at
    if (kind !== 'array' && kind !== 'map') return next + size <= bytes.length ? next + size : ~at
    const inside = kind === 'map' ? size * 2 : size
    // Each value inside takes at least a byte, so an impossible length is refused before it costs anything.
    if (inside > bytes.length - next || open >= depthFollowedMax) return ~at
    remaining[open + 1] = inside
    return next
  }

  const value = (start: number): number => {
    let open = 0
    let at = start
    deepest = 0
    remaining[0] = 1
    for (;;) {
      while (remaining[open] === 0) {
        if (open === 0) return at
        open--
      }
      remaining[open] = (remaining[open] as number) - 1
      values++
      at = step(at, open)
      if (at < 0) return at
      if (current.kind === 'array' || current.kind === 'map') open++
      if (open > deepest) deepest = open
    }
  }

  return { value, depth: () => deepest, values: () => values, head }
}
