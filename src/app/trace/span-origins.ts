import { mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { counted } from '../context.ts'
import { html, type Html } from '../html.ts'
import { fieldTable } from '../search/field-table.ts'
import type { LinkRoom } from './span-links.ts'
import type { ShownSpan } from './span-tree.ts'

/** One of what spans share, the number by which the page calls it, and the first span that has it. */
type Shared = Readonly<{ place: number; span: ShownSpan }>
type SharedBySpan = ReadonlyMap<ShownSpan, Shared>

/** What a page's spans come from: most have the same resource and scope as others, so the page says each once, below them. */
export type Origins = Readonly<{ resources: SharedBySpan; scopes: SharedBySpan }>

/** As searches name them; a scope may have neither. */
function scopeFacts({ scope: { name, version } }: ShownSpan): Readonly<Record<string, string>> {
  return {
    ...(name === '' ? {} : { 'scope.name': name }),
    ...(version === '' ? {} : { 'scope.version': version }),
  }
}

/** `saidOf`: what the span says of it, table by table; one that says nothing is not shown. */
async function shared(
  spans: readonly ShownSpan[],
  saidOf: (span: ShownSpan) => readonly object[],
): Promise<SharedBySpan> {
  const known = new Map<string, Shared>()
  const bySpan = new Map<ShownSpan, Shared>()
  await mapInTurns(spans, (span) => {
    const tables = saidOf(span)
    if (tables.every((table) => Object.keys(table).length === 0)) return
    const said = stringifyJson(tables)
    const one = known.get(said) ?? { place: known.size + 1, span }
    known.set(said, one)
    bySpan.set(span, one)
  })
  return bySpan
}

export const originsOf = async (spans: readonly ShownSpan[]): Promise<Origins> => ({
  resources: await shared(spans, ({ resource }) => [resource.attributes]),
  scopes: await shared(spans, (span) => [scopeFacts(span), span.scope.attributes]),
})

/** From a span to what it comes from. */
export function originLinks(span: ShownSpan, { resources, scopes }: Origins): Html {
  const [resource, scope] = [resources.get(span), scopes.get(span)]
  const links = [
    ...(resource === undefined ? [] : [html`<a href="#resource-${resource.place}">Resource ${resource.place}</a> `]),
    ...(scope === undefined ? [] : [html`<a href="#scope-${scope.place}">Scope ${scope.place}</a> `]),
  ]
  return html`${links}`
}

const distinct = (bySpan: SharedBySpan): readonly Shared[] => [...new Set(bySpan.values())]

/** Every resource and scope of the spans, folded: they are long, and most are looked at from a span. */
export async function originsPart({ resources, scopes }: Origins, room: LinkRoom): Promise<Html> {
  if (resources.size + scopes.size === 0) return html``
  const resource = ({ place, span }: Shared): Html =>
    html`<div class="origin" id="resource-${place}">
      ${fieldTable(`Resource ${place}`, span.resource.attributes, room.linksOf(span)('resource'))}
    </div>`
  const scope = ({ place, span }: Shared): Html => {
    const linksOf = room.linksOf(span)('scope')
    return html`<div class="origin" id="scope-${place}">
      ${fieldTable(`Scope ${place}`, scopeFacts(span), linksOf)}
      ${fieldTable(`Attributes of scope ${place}`, span.scope.attributes, linksOf)}
    </div>`
  }
  const [ofResources, ofScopes] = [distinct(resources), distinct(scopes)]
  const counts = [
    ...(ofResources.length > 0 ? [counted(ofResources.length, 'resource')] : []),
    ...(ofScopes.length > 0 ? [counted(ofScopes.length, 'scope')] : []),
  ]
  // Each span of a page may have its own, as where functions of a cloud made them: others get their turn between these.
  const shown = [
    ...(await mapInTurns(ofResources, (one) => room.take(resource(one)))),
    ...(await mapInTurns(ofScopes, (one) => room.take(scope(one)))),
  ]
  // Browsers open what a link leads into: its place is within, not on what is always seen.
  return html`<h2>Resources and scopes</h2>
    <details>
      <summary>${counts.join(', ')}</summary>
      <div id="origins">${shown}</div>
    </details>`
}
