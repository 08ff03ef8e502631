import { checkServerIdentity, type PeerCertificate } from 'node:tls'

/** The name that Node checks a certificate for when it is given none. The client gives none for a server that is an IP address. */
const nameOfAddresses = 'localhost'

const hostOf = (server: string): string => server.slice(0, server.lastIndexOf(':')).replaceAll(/[[\]]/g, '')

/**
 * TLS options that check certificates for the hosts of these servers (`host:port`), also where a host is an IP address. Which of the servers a
 * connection leads to is not known here. All of them are of one service, so a certificate for any of them is accepted.
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
