import { isolated } from '../format.ts'
import { html, type Html } from '../html.ts'
import type { ShownSpan } from './span-tree.ts'

// By OpenTelemetry's semantic conventions, current and earlier ones: the name of an HTTP call is just `POST`, that of a database call its verb. An
// attribute tells which of many it is.

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

/** Logfire names a span by its message's template; OpenTelemetry's browser instrumentation names one by an event, such as `click`. */
const messages = ['logfire.msg', 'target_xpath'] as const
/** Spans of what a page has loaded are not calls, and all have the same name. */
const ofPages: readonly string[] = ['documentLoad', 'documentFetch', 'resourceFetch']

const ofCalls: readonly string[] = ['client', 'producer', 'consumer']
const charactersMax = 80

/** An address as host and path. */
const shortened = (text: string): string => text.replace(/^https?:\/\/([^?#]*).*$/is, '$1')

type Said = Pick<ShownSpan, 'kind' | 'name' | 'attributes'>

const textOf = (attributes: Said['attributes'], wanted: readonly string[]): string =>
  wanted
    .map((each) => attributes[each])
    .find((value): value is string => typeof value === 'string' && value.trim() !== '') ?? ''

/** What a span has called, or its message, if its name does not say so. */
export function targetPart({ kind, name, attributes }: Said): Html {
  const isOfCall = ofCalls.includes(kind) || ofPages.includes(name)
  const called = isOfCall ? shortened(textOf(attributes, names)) : ''
  const text = (called === '' ? textOf(attributes, messages) : called).replaceAll(/\s+/g, ' ').trim()
  // True for an empty text too.
  if (name.includes(text)) return html``
  const isCut = text.length > charactersMax
  const shown = isCut ? `${text.slice(0, charactersMax).toWellFormed()}…` : text
  return html` <small class="target">${isolated(shown)}</small>`
}
