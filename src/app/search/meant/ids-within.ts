import { hexOfDecimal } from '#src/events/ids.ts'
import { html, type Html } from '../../html.ts'
import { traceAddress } from '../../trace-address.ts'

/** Ids that stand alone, as senders and tools write them: of a trace or span, a UUID, or X-Ray's trace id in its parts. */
const idWithin =
  /(?<![\da-f])(?:[\da-f]{32}|[\da-f]{16}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|1-[\da-f]{8}-[\da-f]{24})(?![\da-f])/gi
const idsMax = 10

const withoutVersion = (id: string): string => (id.length === 35 ? id.slice(2).replace('-', '') : id)

/** Ids of zeros only mean that there is none, as for the parent of a root. */
const idsIn = (pasted: string): readonly string[] =>
  [...new Set(pasted.match(idWithin)?.map(withoutVersion))].filter((id) => id !== pasted && /[1-9a-f]/i.test(id))

/** A 64-bit id in decimal, as Datadog's tools write it, in hex as it is stored. A shorter number means something else, or is already an id. */
function ofDecimal(pasted: string): readonly string[] {
  const id = /^\d{17,20}$/.test(pasted) ? hexOfDecimal(pasted) : undefined
  return id?.length === 16 ? [id] : []
}

/** Where a pasted text leads if it holds more than an id and names one thing only: by one id, or by those of a trace and its span. */
export function addressWithin(pasted: string): string | undefined {
  const [one, other, ...more] = idsIn(pasted).toSorted((a, b) => b.length - a.length)
  if (one === undefined || more.length > 0) return undefined
  if (other === undefined) return `/app/find?id=${encodeURIComponent(one)}`
  return one.length === 32 && other.length === 16 ? traceAddress(one, other) : undefined
}

/** Links to the ids inside a pasted text that is more than an id: a log line, an address, `"trace_id":"…"`. */
export function idsWithin(pasted: string): Html {
  const ids = [...idsIn(pasted), ...ofDecimal(pasted)]
  if (ids.length === 0) return html``
  const links = ids
    .slice(0, idsMax)
    .map((id) => html`<a href="/app/find?id=${encodeURIComponent(id)}"><code>${id}</code></a> `)
  return html`<p class="notice row">It holds what looks like an id. Find ${links}</p>`
}
