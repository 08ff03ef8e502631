import type { MessagePort, Transferable, Worker } from 'node:worker_threads'
import { PermanentError, TransientError } from './failure.ts'

type Call = Readonly<{ call: number; method: string; args: readonly unknown[] }>
type Answer = Readonly<{ call: number; value?: unknown; error?: Readonly<{ name: string; message: string }> }>
type Port = Pick<MessagePort | Worker, 'postMessage' | 'on'>

/** Errors cross threads as name and text only. Gives an operating failure its class again. */
export function revive(error: Readonly<{ name: string; message: string }>): Error {
  const context = { operation: error.message, subject: '' }
  if (error.name === 'TransientError') return new TransientError(context)
  if (error.name === 'PermanentError') return new PermanentError(context)
  return error instanceof Error ? error : Object.assign(new Error(error.message), { name: error.name })
}

/** When calls are sent. `together`: all calls of one turn of the event loop go in one message. */
export type Sending = 'together' | 'at once'

/**
 * Sends all items of one turn of the event loop as one message: a message wakes the other thread, which costs more than its content.
 * `refused` is called for an item that cannot be sent; the others are sent.
 */
function createOutbox<Item>(
  port: Port,
  transferOf: (item: Item) => readonly Transferable[],
  refused: (item: Item, error: unknown) => void,
  sending: Sending = 'together',
): (item: Item) => void {
  let waiting: Item[] = []
  const send = (items: readonly Item[]): void => {
    try {
      port.postMessage(items, items.flatMap(transferOf))
    } catch (error) {
      const [only, ...others] = items
      if (only === undefined) return
      if (others.length === 0) refused(only, error)
      else for (const item of items) send([item])
    }
  }
  const flush = (): void => {
    const items = waiting
    waiting = []
    send(items)
  }
  return (item) => {
    if (waiting.push(item) > 1) return
    // Not a microtask: this runs after all microtasks, so that what they send goes along.
    if (sending === 'together') process.nextTick(flush)
    else flush()
  }
}

function describeError(error: unknown): NonNullable<Answer['error']> {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  return { name, message }
}

/**
 * Answers the calls that `createRemote` sends through the other end of a port. Arguments and results are cloned. Calls that arrived
 * together are started in order, within `together`, which must call its argument once before it returns.
 */
export function serveRemote(port: Port, target: object, together = (begin: () => void): void => begin()): void {
  const post = createOutbox<Answer>(
    port,
    () => [],
    ({ call }, error) => post({ call, error: describeError(error) }),
  )
  const begin = async ({ method: name, args }: Call): Promise<unknown> => {
    const method = (target as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>)[name]
    if (method === undefined) throw new Error(`no such method: ${name}`)
    return await method.apply(target, [...args])
  }
  const answer = (call: Call): void => {
    begin(call).then(
      (value) => post({ call: call.call, value }),
      (error: unknown) => post({ call: call.call, error: describeError(error) }),
    )
  }
  port.on('message', (calls: readonly Call[]) => together(() => calls.forEach(answer)))
}

/**
 * An object whose methods run in the thread at the other end of the port. Every method returns a promise. If the thread ends, pending and
 * later calls reject with TransientError. `transferOf` names the arguments that are transferred instead of cloned: the caller loses them.
 * Use `sending` at once if the caller blocks its thread right after.
 */
export function createRemote<T extends object>(
  port: MessagePort | Worker,
  name: string,
  transferOf: (method: string, args: readonly unknown[]) => readonly Transferable[] = () => [],
  sending: Sending = 'together',
): T {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>()
  let calls = 0
  let ended: Error | undefined
  const end = (cause?: unknown): void => {
    ended = new TransientError({ operation: 'call', subject: name, hint: 'its thread has ended', cause })
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  }
  const settle = ({ call: number, value, error }: Answer): void => {
    const call = waiting.get(number)
    waiting.delete(number)
    if (error === undefined) call?.resolve(value)
    else call?.reject(revive(error))
  }
  const post = createOutbox<Call>(
    port,
    ({ method, args }) => transferOf(method, args),
    ({ call }, error) => {
      waiting.get(call)?.reject(error)
      waiting.delete(call)
    },
    sending,
  )
  port.on('message', (answers: readonly Answer[]) => answers.forEach(settle))
  port.on('error', end)
  port.on('exit', end)
  port.on('close', end)
  return new Proxy({} as T, {
    get: (_target, method) => {
      if (typeof method !== 'string' || method === 'then') return undefined
      return (...args: readonly unknown[]) =>
        new Promise((resolve, reject) => {
          if (ended !== undefined) return reject(ended)
          const call = ++calls
          waiting.set(call, { resolve, reject })
          post({ call, method, args })
        })
    },
  })
}
