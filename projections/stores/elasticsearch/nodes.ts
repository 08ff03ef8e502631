import { ClusterConnectionPool, errors, UndiciConnection } from '@elastic/elasticsearch'

// How the driver speaks with one node, or with several.

type Answered = Readonly<{ body: Readonly<{ on(event: 'error', listener: () => void): unknown }> }>
type Ask = (options: unknown) => Promise<Answered>
type Connection = ReturnType<ClusterConnectionPool['createConnection']>
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

const ping = { requestId: 'ping', name: 'ping', context: null, timeout: pingMs }

type Params = Parameters<UndiciConnection['request']>[0]
type Options = Parameters<UndiciConnection['request']>[1]

/** How long a node that was lost is left alone, before it is asked whether it is back; and one that has no room, if another has. */
const lostMs = 5_000

/** By the system's clock, as the driver has it: one that was set back since would leave the node alone for as long as it was ahead. */
const isDue = (askAt: number, now: number): boolean => askAt <= now || askAt - now > lostMs

/** What a node answers only if it reaches a master. */
const isMember = { method: 'GET', path: '/_cluster/state/version', querystring: 'master_timeout=2s' }

/** Begins the message of an error of a node that is left out for that. */
const notMember = 'it answers 503, and is not in the cluster'
export const isNotMember = (message: string): boolean => message.startsWith(notMember)

/**
 * To one of several nodes. A search may take a minute, while the node answers others; one that hangs answers nothing. What waits for such a node
 * fails, as if the connection were lost. So does what is answered with 503 by one that does not reach its master, or stands behind a proxy that does
 * not reach it: another may know better.
 */
export class WatchedConnection extends HeardConnection {
  #ping: Promise<boolean> | undefined
  #membership: Promise<boolean> | undefined
  #busyUntil = -Infinity

  /** Whether it had no room (429) just now, as one whose own memory is full: others may have some. */
  get isBusy(): boolean {
    return performance.now() < this.#busyUntil
  }

  /** Whether it answers anything at all. */
  #isThere(): Promise<boolean> {
    this.#ping ??= super
      .request({ method: 'HEAD', path: '/' }, ping)
      .then(
        () => true,
        () => false,
      )
      .finally(() => (this.#ping = undefined))
    return this.#ping
  }

  /** Whether it is in the cluster; asked once for all that it answers with 503 meanwhile. */
  #isMember(): Promise<boolean> {
    this.#membership ??= super
      .request(isMember, ping)
      .then(
        ({ statusCode }) => statusCode < 500,
        () => false,
      )
      .finally(() => (this.#membership = undefined))
    return this.#membership
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
      const answer = await super.request(params, { ...options, signal })
      if (answer.statusCode === 429) this.#busyUntil = performance.now() + lostMs
      if (answer.statusCode !== 503 || params.path === isMember.path || (await this.#isMember())) return answer
    } catch (error) {
      if (!hung.signal.aborted || options.signal?.aborted === true) throw error
      throw new errors.ConnectionError(`it takes connections and answers nothing for ${(silenceMs + pingMs) / 1_000} s`)
    } finally {
      clearInterval(watch)
    }
    throw new errors.ConnectionError(`${notMember}: it reaches no master`)
  }
}

/**
 * Several nodes. One of them is asked, as long as it is there: the progress of a build and what is found in it, both from a node that is cut off from
 * the others, are at least of one time. The order is another for each of us, so that all have some to do. One that is lost is asked in the background
 * whether it is back. If all are, they are asked in turn. One that is busy is passed over, unless all are: what it refused is asked again by who asked.
 */
export class Nodes extends ClusterConnectionPool {
  override resurrectTimeout = lostMs
  // As long each time: by default it doubles with each failure, and many requests fail at once.
  override resurrectTimeoutCutoff = 0
  readonly #begin = Math.random()
  #turns = 0
  /** Of those that are lost, the ones that have answered once. */
  readonly #back = new Set<Connection>()

  override getConnection(options: Parameters<ClusterConnectionPool['getConnection']>[0]) {
    const areAllLost = this.dead.length === this.size
    const first = Math.floor(this.#begin * this.size)
    const inOrder = [...this.connections.slice(first), ...this.connections.slice(0, first)]
    const selector: typeof options.selector = (there) => {
      if (areAllLost) return there[this.#turns++ % there.length] as Connection
      const able = inOrder.filter((one) => there.includes(one))
      return (able.find((one) => !(one instanceof WatchedConnection && one.isBusy)) ?? able[0]) as Connection
    }
    return super.getConnection({ ...options, selector })
  }

  override resurrect({ now }: Parameters<ClusterConnectionPool['resurrect']>[0]): void {
    const lost = this.connections.find((node) => this.dead.includes(node.id) && isDue(node.resurrectTimeout, now))
    if (lost === undefined) return
    // Not with each request until it has answered.
    lost.resurrectTimeout = now + lostMs
    lost.request(isMember, ping).then(
      ({ statusCode }) => this.#answered(lost, statusCode < 500),
      () => this.#answered(lost, false),
    )
  }

  /** Twice in turn: one that stood still knows only seconds later that the cluster went on without it, and finds what was there before. */
  #answered(lost: Connection, isThere: boolean): void {
    if (isThere && this.#back.has(lost)) this.markAlive(lost)
    if (isThere && this.dead.includes(lost.id)) this.#back.add(lost)
    else this.#back.delete(lost)
  }
}
