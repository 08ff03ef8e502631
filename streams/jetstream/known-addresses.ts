import { isIP } from 'node:net'

/** As long as a resolver is waited for, once a name has been resolved. */
const resolveMs = 2_000

/** What the client keeps to itself: a server by its name, and those by the addresses that the name stands for. */
export type NamedServer = {
  readonly hostname: string
  /** Of the last time that its name was resolved. */
  readonly resolves?: readonly NamedServer[]
  resolve(options: unknown): Promise<readonly NamedServer[]>
}

const watched = new WeakSet<NamedServer>()

const soon = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), resolveMs)
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}

/**
 * From now on, if the resolver does not answer in time, the server is tried at the addresses that its name stood for before. The client alone would
 * wait half a minute for each of its named servers in turn, and try those that it knows by address last.
 */
export function keepAddresses(server: NamedServer): void {
  if (watched.has(server)) return
  watched.add(server)
  const resolve = server.resolve.bind(server)
  let known: readonly NamedServer[] = []
  const learn = (found: readonly NamedServer[]): boolean => {
    const addresses = found.filter(({ hostname }) => isIP(hostname) !== 0)
    if (addresses.length > 0) known = addresses
    return addresses.length > 0
  }
  learn(server.resolves ?? [])
  server.resolve = async (options) => {
    const found = await soon(resolve(options))
    if (found !== undefined && learn(found)) return found
    // The system may find it by other means, and takes no longer than an attempt may.
    return [...known, { ...server, tlsName: server.hostname }]
  }
}
