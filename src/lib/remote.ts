import type { MessagePort, Transferable, Worker } from 'node:worker_threads'
import { PermanentError, TransientError } from './failure.ts'

type Call = Readonly<{ call: number; method: string; args: readonly unknown[] }>
type Answer = Readonly<{ call: number; value?: unknown; error?: Readonly<{ name: string; message: string }> }>
type Port = Pick<MessagePort | Worker, 'postMessage' | 'on'>

function revive(error: Readonly<{ name: string; message: string }>): Error {
  const context = { operation: error.message, subject: '' }
  if (error.name === 'TransientError') return new TransientError(context)
  if (error.name === 'PermanentError') return new PermanentError(context)
  return Object.assign(new Error(error.message), { name: error.name })
}

/** Answers the calls that `createRemote` sends through the other end of a port. Arguments and results are cloned. */
export function serveRemote(port: Port, target: object): void {
  port.on('message', (message: Call) => {
    const method = (target as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>)[message.method]
    Promise.resolve()
      .then(() => {
        if (method === undefined) throw new Error(`no such method: ${message.method}`)
        return method.apply(target, [...message.args])
      })
      .then(
        (value) => port.postMessage({ call: message.call, value } satisfies Answer),
        (error: unknown) => {
          const { name, message: text } = error instanceof Error ? error : new Error(String(error))
          port.postMessage({ call: message.call, error: { name, message: text } } satisfies Answer)
        },
      )
  })
}

/**
 * An object whose methods run in the thread at the other end of the port. Every method returns a promise.
 * A thread that ends rejects what is under way, and every later call, with TransientError. `transferOf` names what of a
 * call's arguments is handed over instead of cloned: the caller loses it.
 */
export function createRemote<T extends object>(
  port: MessagePort | Worker,
  name: string,
  transferOf: (method: string, args: readonly unknown[]) => readonly Transferable[] = () => [],
): T {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let calls = 0
  let ended: Error | undefined
  const end = (cause?: unknown): void => {
    ended = new TransientError({ operation: 'call', subject: name, hint: 'its thread has ended', cause })
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  }
  port.on('message', (answer: Answer) => {
    const call = waiting.get(answer.call)
    waiting.delete(answer.call)
    if (answer.error === undefined) call?.resolve(answer.value)
    else call?.reject(revive(answer.error))
  })
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
          port.postMessage({ call, method, args } satisfies Call, transferOf(method, args))
        })
    },
  })
}
