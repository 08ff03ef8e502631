import { parseRfc3339Ns } from '#src/lib/time.ts'
import { inWords } from '../context.ts'
import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'
import { spanPlace } from '../trace-address.ts'
import type { ShownSpan } from './span-tree.ts'

type Early = Readonly<{ span: ShownSpan; byNs: bigint }>

/**
 * Browsers and Node.js read the time of day in milliseconds, but measure elapsed time more finely: times of one clock may differ by less than this.
 */
const tickNs = 1_000_000n

/** Spans that start before their parent, by their clocks or senders. */
function earlyOf(spans: readonly ShownSpan[]): readonly Early[] {
  const parents = new Map(spans.map(({ span_id: id, service, start }) => [id, { service, ns: parseRfc3339Ns(start) }]))
  return spans.flatMap((span) => {
    const parent = parents.get(span.parent_span_id ?? '')
    if (parent?.ns === undefined) return []
    const byNs = parent.ns - (parseRfc3339Ns(span.start) ?? 0n)
    return byNs > (parent.service === span.service ? tickNs : 0n) ? [{ span, byNs }] : []
  })
}

/** A notice that the spans of a waterfall are not where they were. Times are shown as received, without any correction. */
export function clockSkewPart(spans: readonly ShownSpan[]): Html {
  const early = earlyOf(spans)
  const [first] = early.toSorted((a, b) => Number(b.byNs - a.byNs))
  if (first === undefined) return html``
  const most = html`<a href="#${spanPlace(first.span.span_id)}">${formatDuration(first.byNs)}</a>`
  const words =
    early.length === 1
      ? '1 span starts before its parent, by'
      : `${inWords(early.length)} spans start before their parents, by up to`
  return html`<p class="note">${words} ${most}: their clocks seem to differ. Times are shown as they were sent.</p>`
}
