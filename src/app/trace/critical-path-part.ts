import { formatDuration, named, percentOf } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ColourOf } from '../service-colours.ts'
import { lengthOf, type Section } from './critical-path.ts'
import type { ShownSpan } from './span-tree.ts'

/** How many services are named in the summary of the folded table. */
const namedMax = 3
const nameCharactersMax = 60

type Share = Readonly<{ service: string; ns: bigint; share: string }>

/** Each service's share of the path, the largest first. */
function sharesOf(path: ReadonlyMap<ShownSpan, readonly Section[]>): readonly Share[] {
  const times = new Map<string, bigint>()
  for (const [{ service }, sections] of path) times.set(service, (times.get(service) ?? 0n) + lengthOf(sections))
  const wholeNs = [...times.values()].reduce((sum, ns) => sum + ns, 0n)
  return [...times]
    .toSorted(([, a], [, b]) => (a === b ? 0 : a > b ? -1 : 1))
    .map(([service, ns]) => ({ service, ns, share: percentOf(Number(ns), Number(wholeNs)) }))
}

const notHere = html`<p class="note">The critical path is shown where a page has all spans of its trace.</p>`

const lacking = ' Spans of this trace are missing: what they took counts as the time of those above them.'

/**
 * Explains the line in the bars of a waterfall, and names the services that it leads through. `isPart`: the page does not have all spans;
 * `isLacking`: some are missing. Empty if no bar has such a line.
 */
export function criticalPathPart(
  path: ReadonlyMap<ShownSpan, readonly Section[]>,
  { isPart, isLacking }: Readonly<{ isPart: boolean; isLacking: boolean }>,
  colourOf: ColourOf,
): Html {
  if (isPart) return notHere
  if (path.size === 0) return html``
  const shares = sharesOf(path)
  const nameOf = (service: string): Html =>
    html`<strong class="${colourOf(service)}">${named(service, nameCharactersMax)}</strong>`
  const first = shares.slice(0, namedMax).map(({ service, share }) => html` ${nameOf(service)} ${share}`)
  const others = shares.length > namedMax ? html` and others` : html``
  return html`<details id="critical-path">
    <summary>
      <svg aria-hidden="true"><rect class="critical" width="100%" y="30%" height="40%" /></svg> Critical
      path:${first}${others}
    </summary>
    <p class="note">
      What the trace waited for: from the end of its root back, always through the span below that ended last. Only what
      becomes faster on it makes the trace faster. What outlives the span above it counts up to that span’s end, where
      nothing that ended in time was at work; where a parent is missing, its children count as below the
      root.${isLacking ? lacking : ''}
    </p>
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col" class="number">On the critical path</th>
          <th scope="col" class="number">Share</th>
        </tr>
      </thead>
      <tbody>
        ${shares.map(
          ({ service, ns, share }) =>
            html`<tr>
              <th scope="row">${nameOf(service)}</th>
              <td class="number">${formatDuration(ns)}</td>
              <td class="number">${share}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`
}
