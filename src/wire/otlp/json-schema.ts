/** Kinds of value in an OTLP JSON request, as far as the scanner tells them apart. */
export const places = {
  other: 0,
  request: 1,
  resourceGroup: 2,
  scopeGroup: 3,
  span: 4,
  traceId: 5,
  spanId: 6,
  misnomer: 7,
  resourceList: 8,
  scopeList: 9,
  libraryList: 10,
  spanList: 11,
} as const

/** Names at the top level that show the body to be something else, unless `resourceSpans` is there too. */
const misnomers = ['resource_spans', 'resourceLogs', 'resourceMetrics', 'resource_logs', 'resource_metrics']

/** The members that lead to spans and their ids, by place. `instrumentationLibrarySpans` was the name of `scopeSpans` before OTLP 0.15. */
const members: readonly (readonly Readonly<{ name: string; inner: number }>[])[] = [
  [],
  [
    { name: 'resourceSpans', inner: places.resourceList },
    ...misnomers.map((name) => ({ name, inner: places.misnomer })),
  ],
  [
    { name: 'scopeSpans', inner: places.scopeList },
    { name: 'instrumentationLibrarySpans', inner: places.libraryList },
  ],
  [{ name: 'spans', inner: places.spanList }],
  [
    { name: 'traceId', inner: places.traceId },
    { name: 'spanId', inner: places.spanId },
  ],
]
const encoder = new TextEncoder()
const decoder = new TextDecoder()
const named = members.map((of) => of.map((member) => ({ ...member, bytes: encoder.encode(member.name) })))

export const isList = (place: number): boolean => place >= places.resourceList
/** The places of lists, as bits. */
export const listBits = -1 << places.resourceList
export const isGroup = (place: number): boolean => place === places.resourceGroup || place === places.scopeGroup

/** The place of a list's items. */
export function itemPlace(place: number): number {
  if (place === places.resourceList) return places.resourceGroup
  if (place === places.spanList) return places.span
  return isList(place) ? places.scopeGroup : places.other
}

/** The place of a member's value. The name is between `start` and `end`, quotes included; it may have escapes. */
export function memberPlace(body: Uint8Array, place: number, start: number, end: number): number {
  const known = named[place]
  if (known === undefined) return places.other
  const length = end - start - 2
  for (const { bytes, inner } of known) if (bytes.length === length && equalsAt(body, start + 1, bytes)) return inner
  if (!body.subarray(start, end).includes(0x5c)) return places.other
  const text: unknown = JSON.parse(decoder.decode(body.subarray(start, end)))
  return known.find(({ name }) => name === text)?.inner ?? places.other
}

function equalsAt(body: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) if (body[start + index] !== expected[index]) return false
  return true
}
