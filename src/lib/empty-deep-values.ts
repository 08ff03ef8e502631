import { stringEnd } from './json-bytes.ts'

const quote = 0x22
const blank = 0x20
const opening: ReadonlySet<number> = new Set(Buffer.from('[{'))
const closing: ReadonlySet<number> = new Set(Buffer.from(']}'))

/** A copy of JSON bytes, known to be well formed, in which the lists and objects of level `depthMax` have nothing in them. */
export function emptyDeepValues(bytes: Uint8Array, depthMax: number): Uint8Array {
  const copy = new Uint8Array(bytes)
  let depth = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (opening.has(byte) && depth++ < depthMax) continue
    if (closing.has(byte) && --depth < depthMax) continue
    const end = byte === quote ? stringEnd(bytes, at) : at + 1
    if (depth >= depthMax) copy.fill(blank, at, end)
    at = end - 1
  }
  return copy
}
