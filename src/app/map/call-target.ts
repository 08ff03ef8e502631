import type { Condition } from '../search/clause.ts'

// Names by OpenTelemetry's semantic conventions (attributes-registry: db, messaging, peer, server), current and earlier ones. A database or a foreign
// service sends no spans: only the calls of it are known.

/** What a span calls, or the queue that its message came from, by its own attributes. */
export type CallTarget = Readonly<{
  kind: 'database' | 'queue' | 'other'
  name: string
  /** Conditions that find spans with the same target. */
  conditions: readonly Condition[]
  /** Whether the call asked the target for messages. */
  isAskedForMessages?: boolean
}>

export type CallAttributes = Readonly<Record<string, unknown>>

/** The first of these attributes with a value, as a condition. */
function firstOf(attributes: CallAttributes, names: readonly string[]): Condition | undefined {
  for (const field of names) {
    const value = attributes[field]
    if (typeof value === 'string' && value.trim() !== '') return { field, operator: '=', text: value.trim() }
  }
  return undefined
}

/** `postgresql/orders`: a system and a part of it. */
function partOfSystem(kind: CallTarget['kind'], system: Condition, part: Condition | undefined): CallTarget {
  const conditions = part === undefined ? [system] : [system, part]
  return { kind, name: conditions.map(({ text }) => text).join('/'), conditions }
}

const usualPorts: readonly string[] = ['80', '443']

function portOf(attributes: CallAttributes): Condition | undefined {
  for (const field of ['server.port', 'net.peer.port']) {
    const text = String(attributes[field])
    if (/^\d{1,5}$/.test(text)) return usualPorts.includes(text) ? undefined : { field, operator: '=', text }
  }
  return undefined
}

/** `api.pay.example`, `localhost:8081`. */
function addressed(attributes: CallAttributes, address: Condition): CallTarget {
  const port = portOf(attributes)
  if (port === undefined) return { kind: 'other', name: address.text, conditions: [address] }
  return { kind: 'other', name: `${address.text}:${port.text}`, conditions: [address, port] }
}

function ofUrl(attributes: CallAttributes): CallTarget | undefined {
  const url = firstOf(attributes, ['url.full', 'http.url'])
  if (url === undefined || !URL.canParse(url.text)) return undefined
  const { host } = new URL(url.text)
  return host === '' ? undefined : { kind: 'other', name: host, conditions: [{ ...url, operator: ':', text: host }] }
}

/** The target that a span's attributes name; undefined if they name none. */
export function callTarget(attributes: CallAttributes): CallTarget | undefined {
  const first = (...names: readonly string[]): Condition | undefined => firstOf(attributes, names)
  const peer = first('service.peer.name', 'peer.service')
  if (peer !== undefined) return { kind: 'other', name: peer.text, conditions: [peer] }
  const address = first('server.address', 'net.peer.name')
  const database = first('db.system.name', 'db.system')
  if (database !== undefined) return partOfSystem('database', database, first('db.namespace', 'db.name') ?? address)
  const queue = first('messaging.system')
  if (queue !== undefined) {
    const target = partOfSystem('queue', queue, first('messaging.destination.name', 'messaging.destination') ?? address)
    const isAskedForMessages = first('messaging.operation.type', 'messaging.operation')?.text === 'receive'
    return isAskedForMessages ? { ...target, isAskedForMessages } : target
  }
  return address === undefined ? ofUrl(attributes) : addressed(attributes, address)
}
