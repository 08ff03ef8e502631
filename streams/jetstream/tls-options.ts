import { checkServerIdentity, type PeerCertificate } from 'node:tls'

/** The client compares the certificate of a server that is an address, not a name, with this: what Node does where it is told no name. */
const nameOfAddresses = 'localhost'

const hostOf = (server: string): string => server.slice(0, server.lastIndexOf(':')).replaceAll(/[[\]]/g, '')

/**
 * By these it connects to servers (`host:port`) whose certificates are for the hosts that they are named by. Which of the addresses it is connected to
 * is not known here: as all of them are of one service, the certificate of any of them will do.
 */
export function tlsOptionsFor(servers: readonly string[]): object {
  const hosts = servers.map(hostOf)
  return {
    checkServerIdentity(name: string, certificate: PeerCertificate): Error | undefined {
      const candidates = name === nameOfAddresses ? hosts : [name]
      const outcomes = candidates.map((host) => checkServerIdentity(host, certificate))
      return outcomes.includes(undefined) ? undefined : outcomes[0]
    },
  }
}
