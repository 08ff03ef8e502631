import type { JsonRange } from '#src/lib/json-bytes.ts'

/** What replaces a member: items of the body for an array, or other bytes. */
export type CutPart = readonly JsonRange[] | Uint8Array

const comma = Buffer.from(',')

function join(pieces: readonly Uint8Array[]): Uint8Array[] {
  return pieces.flatMap((piece, index) => (index === 0 ? [piece] : [comma, piece]))
}

/**
 * A JSON object with the members of `body`, byte for byte, except for those that `parts` replaces. None is left out, also if it has become empty: by
 * its members the decoder tells the form.
 */
export function cutBody(
  body: Uint8Array,
  members: ReadonlyMap<string, JsonRange>,
  parts: ReadonlyMap<string, CutPart>,
): Uint8Array {
  const written: Uint8Array[] = []
  for (const [key, { start, end }] of members) {
    const value = bytesOf(body, parts.get(key)) ?? body.subarray(start, end)
    written.push(Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), value]))
  }
  return Buffer.concat([Buffer.from('{'), ...join(written), Buffer.from('}')])
}

function bytesOf(body: Uint8Array, part: CutPart | undefined): Uint8Array | undefined {
  if (part === undefined || part instanceof Uint8Array) return part
  return Buffer.concat([
    Buffer.from('['),
    ...join(part.map(({ start, end }) => body.subarray(start, end))),
    Buffer.from(']'),
  ])
}
