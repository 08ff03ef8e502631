import { isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ShownSpan } from './span-tree.ts'

// By OpenTelemetry's semantic conventions, current and earlier ones: a call by HTTP is named `POST` alone, one to a database by its verb, and
// which of many it is stands in an attribute.

const names = [
  'url.full',
  'http.url',
  'db.query.text',
  'db.statement',
  'messaging.destination.name',
  'messaging.destination',
  'peer.service',
  'server.address',
  'net.peer.name',
] as const

const ofCalls: readonly string[] = ['client', 'producer', 'consumer']
const charactersMax = 80

/** An address as its host and path. */
const shortened = (text: string): string => text.replace(/^https?:\/\/([^?#]*).*$/is, '$1').replaceAll(/\s+/g, ' ')

/** What a span has called, where its name does not say it. */
export function targetPart({ kind, name, attributes }: Pick<ShownSpan, 'kind' | 'name' | 'attributes'>): Html {
  if (!ofCalls.includes(kind)) return html``
  const values = names.map((each) => attributes[each])
  const found = values.find((value): value is string => typeof value === 'string' && value.trim() !== '')
  const text = shortened(found ?? '').trim()
  // Of nothing too.
  if (name.includes(text)) return html``
  const isCut = text.length > charactersMax
  const shown = isCut ? `${text.slice(0, charactersMax).toWellFormed()}…` : text
  return html` <small class="target">${isolated(shown)}</small>`
}
