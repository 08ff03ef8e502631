import type { NatsConnection } from 'nats'
import { keepAddresses, type NamedServer } from './known-addresses.ts'

const waitMs = 250
const jitterMs = 250

/** What the client keeps to itself: when it tried each server last, by the system's clock (0: never). */
type Server = NamedServer & { lastConnect: number }
type Inside = Readonly<{ protocol?: Readonly<{ servers?: Readonly<{ getServers(): readonly Server[] }> }> }>

/**
 * How long a server is left alone after an attempt to connect to it, in ms; asked before each attempt. The client reckons with a clock that may be
 * set back, as by an hour where it was wrong at the start of the machine. It would then leave each server alone until that hour has passed again,
 * so what it has tried in the future counts as not tried. Nor is it held up by a resolver.
 */
export function reconnectWait(connection: NatsConnection | undefined): number {
  const servers = (connection as unknown as Inside | undefined)?.protocol?.servers?.getServers() ?? []
  const now = Date.now()
  for (const server of servers) {
    if (server.lastConnect > now) server.lastConnect = 0
    keepAddresses(server)
  }
  return waitMs + Math.random() * jitterMs
}
