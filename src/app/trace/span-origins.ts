import { mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { counted } from '../context.ts'
import { html, type Html } from '../html.ts'
import { fieldTable } from '../search/field-table.ts'
import type { LinkRoom } from './span-links.ts'
import type { ShownSpan } from './span-tree.ts'

/** A shared resource or scope, its number on the page, and the first span that has it. */
type Shared = Readonly<{ place: number; span: ShownSpan }>
type SharedBySpan = ReadonlyMap<ShownSpan, Shared>

/** The resources and scopes of a page's spans. Most are shared, so each is shown once, below the spans. */
export type Origins = Readonly<{ resources: SharedBySpan; scopes: SharedBySpan }>

/** A scope's name and version under the names that searches use; it may have neither. */
function scopeFacts({ scope: { name, version } }: ShownSpan): Readonly<Record<string, string>> {
  return {
    ...(name === '' ? {} : { 'scope.name': name }),
    ...(version === '' ? {} : { 'scope.version': version }),
  }
}

/** Numbers what spans share. `saidOf`: what a span says about it, as a list of tables; nothing said, nothing shown. */
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

/** Links from a span to its resource and scope. */
export function originLinks(span: ShownSpan, { resources, scopes }: Origins): Html {
  const [resource, scope] = [resources.get(span), scopes.get(span)]
  const links = [
    ...(resource === undefined ? [] : [html`<a href="#resource-${resource.place}">Resource ${resource.place}</a> `]),
    ...(scope === undefined ? [] : [html`<a href="#scope-${scope.place}">Scope ${scope.place}</a> `]),
  ]
  return html`${links}`
}

const distinct = (bySpan: SharedBySpan): readonly Shared[] => [...new Set(bySpan.values())]

/** Every resource and scope of the spans, folded: they are long, and mostly reached from a span. */
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
  // Made in turns with other work: each span may have its own resource, as cloud functions do.
  const shown = [
    ...(await mapInTurns(ofResources, (one) => room.take(resource(one)))),
    ...(await mapInTurns(ofScopes, (one) => room.take(scope(one)))),
  ]
  // The element id is inside, so that browsers unfold it for a link.
  return html`<h2>Resources and scopes</h2>
    <details>
      <summary>${counts.join(', ')}</summary>
      <div id="origins">${shown}</div>
    </details>`
}
