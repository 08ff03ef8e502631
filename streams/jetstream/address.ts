import { PermanentError } from '#src/lib/failure.ts'

/** Where the servers are, and the credentials for them. */
export type NatsAddress = Readonly<{
  servers: readonly string[]
  user: string | undefined
  password: string | undefined
  token: string | undefined
  tls: boolean
}>

const defaultPort = '4222'

function wrong(hint: string): PermanentError {
  // Without the text itself: it may hold a password.
  return new PermanentError({ operation: 'read', subject: 'NATS_URL', hint })
}

type Part = Readonly<{ url: URL; user: string; password: string }>

function partOf(text: string): Part {
  try {
    const url = new URL(text.includes('://') ? text : `nats://${text}`)
    if (url.hostname !== '' && ['nats:', 'tls:'].includes(url.protocol)) {
      return { url, user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
    }
  } catch {
    // Reported below.
  }
  throw wrong('it is nats://user:password@host:port or nats://token@host:port, several with commas; tls:// encrypts')
}

/**
 * Parses `nats://user:password@host:port`, `nats://token@host:port` or `tls://…`; several servers of one cluster are separated by commas.
 * Credentials are percent-decoded, and the same for all servers; one of them is enough. Throws PermanentError.
 */
export function parseNatsUrl(text: string): NatsAddress {
  const parts = text.split(',').map((part) => partOf(part.trim()))
  const named = parts.filter(({ user, password }) => user !== '' || password !== '')
  const [first] = named
  if (named.some(({ user, password }) => user !== first?.user || password !== first.password)) {
    throw wrong('all its servers take the same credentials')
  }
  const tls = parts.every(({ url }) => url.protocol === 'tls:')
  if (!tls && parts.some(({ url }) => url.protocol === 'tls:'))
    throw wrong('all its servers are nats:// or all are tls://')
  const withPassword = first !== undefined && first.password !== ''
  return {
    servers: parts.map(({ url }) => `${url.hostname}:${url.port || defaultPort}`),
    user: withPassword ? first.user : undefined,
    password: withPassword ? first.password : undefined,
    token: withPassword ? undefined : first?.user,
    tls,
  }
}
