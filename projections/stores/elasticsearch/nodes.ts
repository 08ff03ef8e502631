import { ClusterConnectionPool, errors, UndiciConnection } from '@elastic/elasticsearch'

// How the driver speaks with one node, or with several.

type Answered = Readonly<{ body: Readonly<{ on(event: 'error', listener: () => void): unknown }> }>
type Ask = (options: unknown) => Promise<Answered>
type ConnectionOptions = ConstructorParameters<typeof UndiciConnection>[0]

/** Begins the message of an error before which nothing was sent. */
const notConnected = 'not connected: '
export const isUnsent = (error: unknown): boolean => error instanceof Error && error.message.startsWith(notConnected)

type Refused = Readonly<{ code?: string; syscall?: string; message: string }>

/** The driver passes on the message of an error alone; that of several addresses of one name, of which none was reached, is empty. */
function telling(error: unknown): unknown {
  const { code = '', syscall = '', message } = error as Refused
  const isUnreached = error instanceof AggregateError || ['connect', 'getaddrinfo'].includes(syscall)
  if (!isUnreached && code !== 'UND_ERR_CONNECT_TIMEOUT') return error
  return new Error(notConnected + (message === '' ? code : message), { cause: error })
}

/**
 * Hears the error of a body that the driver destroys because its length, as announced, is too large. Nobody else does, and an error that
 * nobody hears ends the process.
 */
export class HeardConnection extends UndiciConnection {
  constructor(options: ConnectionOptions) {
    super(options)
    const ask = this.pool.request.bind(this.pool) as unknown as Ask
    const heard: Ask = async (request) => {
      const answered = await ask(request).catch((error: unknown) => {
        throw telling(error)
      })
      answered.body.on('error', () => undefined)
      return answered
    }
    this.pool.request = heard as unknown as UndiciConnection['pool']['request']
  }
}

/** A node that has not answered a request for so long is asked whether it is there; and how long it may take to say so. */
const silenceMs = 2_000
const pingMs = 3_000

type Params = Parameters<UndiciConnection['request']>[0]
type Options = Parameters<UndiciConnection['request']>[1]

/**
 * To one of several nodes. A search may take a minute, while the node answers others; one that hangs answers nothing. What waits for such a node
 * fails, as if the connection were lost.
 */
export class WatchedConnection extends HeardConnection {
  #ping: Promise<boolean> | undefined

  /** Whether it answers anything at all. */
  #isThere(): Promise<boolean> {
    const ping = { requestId: 'ping', name: 'ping', context: null, timeout: pingMs }
    this.#ping ??= super
      .request({ method: 'HEAD', path: '/' }, ping)
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.#ping = undefined))
    return this.#ping
  }

  override request(params: Params, options: Options): Promise<never> {
    return this.#watched(params, options) as Promise<never>
  }

  async #watched(params: Params, options: Options) {
    const hung = new AbortController()
    const watch = setInterval(() => {
      void this.#isThere().then((isThere) => isThere || hung.abort())
    }, silenceMs)
    const signal = options.signal === undefined ? hung.signal : AbortSignal.any([hung.signal, options.signal])
    try {
      return await super.request(params, { ...options, signal })
    } catch (error) {
      if (!hung.signal.aborted || options.signal?.aborted === true) throw error
      throw new errors.ConnectionError(`it takes connections and answers nothing for ${(silenceMs + pingMs) / 1_000} s`)
    } finally {
      clearInterval(watch)
    }
  }
}

/** How long a node that was lost is left alone, before it is asked whether it is there again. */
const lostMs = 5_000

/** Several nodes, asked in turn; one that is lost is left out, and asked in the background whether it is back. If all are, all are asked. */
export class Nodes extends ClusterConnectionPool {
  override resurrectTimeout = lostMs
  // As long each time: many requests that fail at once count as one each.
  override resurrectTimeoutCutoff = 0
  override pingTimeout = pingMs

  override resurrect(options: Parameters<ClusterConnectionPool['resurrect']>[0]): void {
    const lost = this.connections.find(({ id }) => id === this.dead[0])
    super.resurrect(options)
    // It would be asked anew with each request until it has answered.
    if (lost !== undefined && lost.resurrectTimeout <= options.now) lost.resurrectTimeout = options.now + pingMs
  }
}
