import { hexOfDecimal } from '#src/events/ids.ts'
import { html, type Html } from '../html.ts'
import { traceAddress } from '../trace-address.ts'

/** Ids as senders and other tools write them, by themselves: of a trace or a span, a UUID, and a trace of X-Ray in its parts. */
const idWithin =
  /(?<![\da-f])(?:[\da-f]{32}|[\da-f]{16}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|1-[\da-f]{8}-[\da-f]{24})(?![\da-f])/gi
const idsMax = 10

const withoutVersion = (id: string): string => (id.length === 35 ? id.slice(2).replace('-', '') : id)

/** Zeros alone stand where there is no id, as of the parent of a root. */
const idsIn = (pasted: string): readonly string[] =>
  [...new Set(pasted.match(idWithin)?.map(withoutVersion))].filter((id) => id !== pasted && /[1-9a-f]/i.test(id))

/** An id of 64 bits as tools of Datadog write it, in decimal: as it is kept. Fewer digits are a number of something else, or an id already. */
function ofDecimal(pasted: string): readonly string[] {
  const id = /^\d{17,20}$/.test(pasted) ? hexOfDecimal(pasted) : undefined
  return id?.length === 16 ? [id] : []
}

/** Where what was pasted leads, if it is more than an id and names one thing alone: by one id, or by those of a trace and a span of it. */
export function addressWithin(pasted: string): string | undefined {
  const [one, other, ...more] = idsIn(pasted).toSorted((a, b) => b.length - a.length)
  if (one === undefined || more.length > 0) return undefined
  if (other === undefined) return `/app/find?id=${encodeURIComponent(one)}`
  return one.length === 32 && other.length === 16 ? traceAddress(one, other) : undefined
}

/** The ids that stand in what was pasted to be found by, where that is more than an id: a line of a log, an address, `"trace_id":"…"`. */
export function idsWithin(pasted: string): Html {
  const ids = [...idsIn(pasted), ...ofDecimal(pasted)]
  if (ids.length === 0) return html``
  const links = ids
    .slice(0, idsMax)
    .map((id) => html`<a href="/app/find?id=${encodeURIComponent(id)}"><code>${id}</code></a> `)
  return html`<p class="notice row">It holds what looks like an id. Find ${links}</p>`
}
