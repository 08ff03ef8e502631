import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterConnectionPool, errors, UndiciConnection } from '@elastic/elasticsearch'
import { askAgainIfDropped, notMember, telling, unsent } from './connection-errors.ts'

// How the driver speaks with one node, or with several.

type Answered = Readonly<{ body: Readonly<{ on(event: 'error', listener: () => void): unknown }> }>
type Ask = (options: unknown) => Promise<Answered>
type Connection = ReturnType<ClusterConnectionPool['createConnection']>
type ConnectionOptions = ConstructorParameters<typeof UndiciConnection>[0]

/**
 * How long an unused connection is kept. A firewall or proxy between may forget idle connections, mostly after a minute or more, and then drop
 * their packets. A request on one would wait as long as a slow search may, because pings on new connections say that the node is there.
 */
const idleMs = 30_000

/**
 * Hears the error of a body that the driver destroys because its length, as announced, is too large. Nobody else does, and an error that
 * nobody hears ends the process.
 */
export class HeardConnection extends UndiciConnection {
  constructor(options: ConnectionOptions) {
    super({ ...options, agent: { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs } })
    const ask = this.pool.request.bind(this.pool) as unknown as Ask
    const heard: Ask = async (request) => {
      const begun = performance.now()
      const answered = await ask(request).catch((error: unknown) => {
        throw telling(error, performance.now() - begun)
      })
      answered.body.on('error', () => undefined)
      return answered
    }
    this.pool.request = heard as unknown as UndiciConnection['pool']['request']
  }
}

/** A node that has not answered a request for so long is asked whether it is there. */
const silenceMs = 2_000
/** How long it may take to say so. */
const pingMs = 3_000

const ping = { requestId: 'ping', name: 'ping', context: null, timeout: pingMs }

/**
 * A node that was silent for longer may have been paused until the master removed it from the cluster, which takes half a minute. After that it
 * answers for some seconds from what it had before: acknowledged records are missing, while the progress that other nodes tell includes them.
 */
const doubtMs = 10_000

/**
 * When a node counts as lost: it was pinged `times` times in a row, and each ping had `ms` to be answered. `pauseMs`: if this process itself stood
 * still for longer during a request, the answer is doubted, because the node may have stood still too.
 */
type Patience = Readonly<{ ms: number; times: number; pauseMs: number }>
const ofSeveral: Patience = { ms: pingMs, times: 1, pauseMs: doubtMs }
/** There is no other to ask: it may be very busy, or this process itself has stood still for as long, or that connection alone was lost. */
const ofTheOnly: Patience = { ms: 4_000, times: 2, pauseMs: Infinity }

const silent = 'it answers nothing, not even HEAD /'
const paused = 'this process stood still while it was asked, and maybe it did too'

type Params = Parameters<UndiciConnection['request']>[0]
type Options = Omit<Parameters<UndiciConnection['request']>[1], 'asStream'>

/** How long a node that was lost is left alone, before it is asked whether it is back; and one that has no room, if another has. */
const lostMs = 5_000

/** By the system's clock, as the driver has it: one that was set back since would leave the node alone for as long as it was ahead. */
const isDue = (askAt: number, now: number): boolean => askAt <= now || askAt - now > lostMs

const versionPath = '/_cluster/state/version'
/** What a node answers only if it reaches a master. */
const ofMaster = { method: 'GET', path: versionPath, querystring: 'master_timeout=2s&filter_path=version' }
const ofItself = { method: 'GET', path: versionPath, querystring: 'local=true&filter_path=version' }

/** `behind`: it reaches a master that has gone on without it. `outside`: it reaches none. `untold`: its master does not answer, as one that hangs. */
type Standing = 'current' | 'behind' | 'outside' | 'untold'

/** What it knows itself it says at once: with the question to the master, one that hangs is given up as soon as during any other request. */
const itselfMs = 2_000

function versionIn(body: unknown): number {
  const answer: unknown = typeof body === 'string' && body.startsWith('{') ? JSON.parse(body) : undefined
  return Number((answer as Readonly<{ version?: unknown }> | undefined)?.version ?? 0)
}

const outside = `${notMember}: it reaches no master`
const behind = 'it stood still, and does not know yet what the others did meanwhile'

/**
 * A search may take a minute, while the node answers others; one that hangs, or that nothing comes from any more, answers nothing. What waits for
 * such a node fails, as if the connection were lost.
 */
abstract class WatchedConnection extends HeardConnection {
  protected abstract readonly patience: Patience
  #ping: Promise<boolean> | undefined
  #heardAt = -Infinity

  /** Whether it answers anything at all. */
  async #answersAnything(): Promise<boolean> {
    const begun = performance.now()
    const { ms, times } = this.patience
    for (let time = 0; time < times; time++) {
      // One that is refused at once, as for a moment by what stands before it, is no reason to give up what is under way.
      if (time > 0) await sleep(Math.max(0, begun + ms * time - performance.now()), undefined, { ref: false })
      const head = () => super.request({ method: 'HEAD', path: '/' }, { ...ping, timeout: ms })
      const answer = await askAgainIfDropped(head).catch(() => undefined)
      if (answer !== undefined || this.#heardAt > begun) return true
    }
    return false
  }

  /** Asked once for all that waits for it. */
  #isThere(): Promise<boolean> {
    this.#ping ??= this.#answersAnything().finally(() => (this.#ping = undefined))
    return this.#ping
  }

  override request(params: Params, options: Options): Promise<never> {
    return this.watched(params, options) as Promise<never>
  }

  protected async watched(params: Params, options: Options) {
    const hung = new AbortController()
    let awakeAt = performance.now()
    const stoodStill = (): boolean => performance.now() - awakeAt > this.patience.pauseMs
    const watch = setInterval(() => {
      if (stoodStill()) hung.abort(paused)
      awakeAt = performance.now()
      void this.#isThere().then((isThere) => isThere || hung.abort(silent))
    }, silenceMs)
    const signal = options.signal === undefined ? hung.signal : AbortSignal.any([hung.signal, options.signal])
    try {
      const answer = await super.request(params, { ...options, signal })
      if (stoodStill()) hung.abort(paused)
      hung.signal.throwIfAborted()
      this.#heardAt = performance.now()
      return answer
    } catch (error) {
      if (!hung.signal.aborted || options.signal?.aborted === true) throw error
      throw new errors.ConnectionError(String(hung.signal.reason))
    } finally {
      clearInterval(watch)
    }
  }
}

export class OnlyConnection extends WatchedConnection {
  protected override readonly patience = ofTheOnly
}

/**
 * To one of several nodes. What is answered with 503 by one that does not reach its master, or stands behind a proxy that does not reach it, fails as
 * well: another may know better. So does what one is asked that was silent, and does not know what its master does.
 */
export class OneOfSeveral extends WatchedConnection {
  protected override readonly patience = ofSeveral
  /** Then one that reaches no master is asked all the same: nobody else answers at all. */
  othersAreLost = false
  #standing: Promise<Standing> | undefined
  #busyUntil = -Infinity
  #currentAt = -Infinity

  /** Whether it had no room (429) just now, as one whose own memory is full: others may have some. */
  get isBusy(): boolean {
    return performance.now() < this.#busyUntil
  }

  /** The master first: a state that it has is applied by all others already. */
  async #compare(): Promise<Standing> {
    const ask = (params: Params, timeout: number) =>
      askAgainIfDropped(() => super.watched(params, { ...ping, timeout }))
    const master = await ask(ofMaster, pingMs).catch((error: unknown) => {
      if (!(error instanceof errors.TimeoutError)) throw error
    })
    if (master !== undefined && master.statusCode >= 500) return 'outside'
    const itself = await ask(ofItself, itselfMs)
    if (master === undefined) return 'untold'
    if (versionIn(itself.body) < versionIn(master.body)) return 'behind'
    this.#currentAt = performance.now()
    return 'current'
  }

  /** Where it stands in the cluster; asked once for all that wait for it. */
  standing(): Promise<Standing> {
    this.#standing ??= this.#compare().finally(() => (this.#standing = undefined))
    return this.#standing
  }

  /** A master that hangs leaves nobody out; until there is another, all others know no more. */
  async #refuseLate(): Promise<void> {
    if (performance.now() - this.#currentAt <= doubtMs) return
    const standing = await this.standing().catch((error: unknown) => {
      throw unsent(error)
    })
    if (standing === 'behind' || (standing === 'outside' && !this.othersAreLost))
      throw unsent(new Error(standing === 'behind' ? behind : outside))
  }

  protected override async watched(params: Params, options: Options) {
    await this.#refuseLate()
    const answer = await super.watched(params, options)
    if (answer.statusCode === 429) this.#busyUntil = performance.now() + lostMs
    if (answer.statusCode === 503 && (await this.standing().catch(() => 'outside')) !== 'current')
      throw new errors.ConnectionError(outside)
    this.#currentAt = performance.now()
    return answer
  }
}

const isBusy = (node: Connection): boolean => node instanceof OneOfSeveral && node.isBusy

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

  override getConnection(options: Parameters<ClusterConnectionPool['getConnection']>[0]) {
    const areAllLost = this.dead.length === this.size
    const first = Math.floor(this.#begin * this.size)
    const inOrder = [...this.connections.slice(first), ...this.connections.slice(0, first)]
    const selector: typeof options.selector = (there) => {
      const able = inOrder.filter((one) => there.includes(one))
      const next = areAllLost ? there[this.#turns++ % there.length] : (able.find((one) => !isBusy(one)) ?? able[0])
      if (next instanceof OneOfSeveral) next.othersAreLost = areAllLost
      return next as Connection
    }
    return super.getConnection({ ...options, selector })
  }

  override resurrect({ now }: Parameters<ClusterConnectionPool['resurrect']>[0]): void {
    const lost = this.connections.find((node) => this.dead.includes(node.id) && isDue(node.resurrectTimeout, now))
    if (lost === undefined) return
    // Not with each request until it has answered.
    lost.resurrectTimeout = now + lostMs
    if (!(lost instanceof OneOfSeveral)) return
    lost.standing().then(
      (standing) => void (standing === 'current' && this.markAlive(lost)),
      () => undefined,
    )
  }
}
