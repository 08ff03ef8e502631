import { lookup } from 'node:dns/promises'
import { BoundSocket, isIP } from 'node:net'
import { PermanentError } from '#src/lib/failure.ts'

/**
 * A TCP socket that one process holds and others listen on and accept from, so that it outlives each of them. While none of
 * them accepts, the kernel answers those who connect and keeps them in its queue (at most `backlog`, and at most the
 * system's `somaxconn`): nobody is refused, and a process that takes over serves them.
 */
type ListeningSocket = Readonly<{
  port: number
  /** To be inherited by a child process, which gives it to `server.listen({ fd })`. */
  fd: number
  close(): void
}>

/** Hints name variables, which work however the server is started: npm takes a flag for its own unless `--` stands before it. */
const hints: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has this port: stop that one, or set PORT (or OPERATIONS_PORT) to another',
  EACCES: 'this user may not take this port: choose one from 1024 up',
  EADDRNOTAVAIL: 'this machine does not have this address: see HOST',
  ENOTFOUND: 'this name cannot be resolved: see HOST',
}

const hintOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? hints[String(error.code)] : undefined

/** Binds and does not listen yet; port 0: one that the system chooses. Throws PermanentError. */
export async function bindSocket({ host, port }: Readonly<{ host: string; port: number }>): Promise<ListeningSocket> {
  const context = { operation: 'listen on', subject: `${host}:${port}` }
  let bound: BoundSocket
  try {
    const address = isIP(host) === 0 ? (await lookup(host)).address : host
    bound = new BoundSocket({ host: address, port })
  } catch (cause) {
    const hint = hintOf(cause)
    throw new PermanentError({ ...context, cause, ...(hint === undefined ? {} : { hint }) })
  }
  const { port: boundPort } = bound.address()
  const fd = bound.fd()
  let isClosed = false
  const close = (): void => {
    if (!isClosed) bound.close()
    isClosed = true
  }
  if (fd >= 0) return { port: boundPort, fd, close }
  close()
  const hint = 'this system does not let processes share a socket; Linux and macOS do'
  throw new PermanentError({ ...context, hint })
}
