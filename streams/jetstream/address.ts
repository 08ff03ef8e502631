import { PermanentError } from '#src/lib/failure.ts'

/** Where servers are, and how to be let in. */
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

function urlOf(text: string): URL {
  try {
    const url = new URL(text.includes('://') ? text : `nats://${text}`)
    if (url.hostname !== '' && ['nats:', 'tls:'].includes(url.protocol)) return url
  } catch {
    // Said below.
  }
  throw wrong('it is nats://user:password@host:port or nats://token@host:port, several with commas; tls:// encrypts')
}

/**
 * `nats://user:password@host:port`, `nats://token@host:port` or `tls://…`, several servers of one cluster with commas.
 * Credentials are percent-decoded and may stand at any of them, the same for all. Throws PermanentError.
 */
export function parseNatsUrl(text: string): NatsAddress {
  const urls = text.split(',').map((part) => urlOf(part.trim()))
  const credentials = new Set(
    urls.map(({ username, password }) => `${username}:${password}`).filter((each) => each !== ':'),
  )
  if (credentials.size > 1) throw wrong('all its servers take the same credentials')
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1)
    throw wrong('all its servers are nats:// or all are tls://')
  const [username = '', password = ''] = [...credentials][0]?.split(':').map(decodeURIComponent) ?? []
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || defaultPort}`),
    user: password === '' ? undefined : username,
    password: password === '' ? undefined : password,
    token: password === '' && username !== '' ? username : undefined,
    tls: urls[0]?.protocol === 'tls:',
  }
}
