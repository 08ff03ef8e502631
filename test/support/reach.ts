import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import type { Process, World } from './virtual-world.ts'

/**
 * How a call goes wrong. `late`: it fails, and what was asked is done long after. `twice`: an adapter that got no answer asks again by
 * itself.
 */
export type Fault = 'before' | 'after' | 'late' | 'twice' | undefined
type Network = Readonly<{ delayMs: () => number; fault: () => Fault; lateMs: () => number }>

/** What a call leaves behind: nothing, something that is done by the time of the answer or never, or something that may come late. */
type Effect = 'none' | 'prompt' | 'any'

/** Calls of a process to something that it reaches from afar: nothing takes no time, and everything may go wrong. */
export type Call = <T>(name: string, effect: Effect, operation: () => Promise<T>) => Promise<T>

/**
 * Nothing that may be done late is under way over hours by which clocks were put forward: no connection lasts so long without an answer
 * (streams/jetstream/connect.ts). Seeds whose clocks go on by less each time stay what they were.
 */
const underWayMsMax = 100 * 60_000

export function createCall(world: World, process: Process, { delayMs, fault, lateMs }: Network, who = ''): Call {
  return <T>(name: string, effect: Effect, operation: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const wrong = fault()
      const lost = (): void => reject(new TransientError({ operation: 'reach', subject: name }))
      const fail = (): void => process.deliver(lost)
      const arrive = (): Promise<T> => {
        world.note(`${who} ${name}${wrong === undefined ? '' : `, ${wrong}`}`)
        return operation()
      }
      const sentAt = world.now()
      const isLost = (): boolean => effect === 'any' && world.now() - sentAt >= underWayMsMax
      const arriveLate = (): void => {
        if (!isLost()) void arrive().catch(() => undefined)
      }
      if (wrong === 'before' || wrong === 'late' || (wrong === 'after' && effect === 'none')) {
        world.after(delayMs(), fail)
        if (wrong === 'late' && effect === 'any') world.after(lateMs(), arriveLate)
        return
      }
      world.after(delayMs(), () => {
        if (isLost()) return fail()
        const outcome = wrong === 'twice' ? arrive().then(arrive) : arrive()
        const answer = (): void => void outcome.then(resolve, reject)
        outcome.catch(() => undefined)
        world.after(delayMs(), wrong === 'after' ? fail : () => process.deliver(answer))
      })
    })
}

/** The log as a process reaches it. */
export function reach(stream: Stream, world: World, process: Process, network: Network, who?: string): Stream {
  const call = createCall(world, process, network, who)
  return {
    ...stream,
    append: (events, expected) => call('append', 'any', () => stream.append(events, expected)),
    find: (ids, now) => call('find', 'none', () => stream.find(ids, now)),
    last: (subject) => call('last', 'none', () => stream.last(subject)),
    isLeft: (workspaceId) => call('is left', 'none', () => stream.isLeft(workspaceId)),
    erase: (workspaceId, upTo) => call('erase', 'any', () => stream.erase(workspaceId, upTo)),
    read: (after, max) => call('read', 'none', () => stream.read(after, max)),
    head: () => call('head', 'none', () => stream.head()),
    changed: async (after, signal) => {
      await stream.changed(after, signal)
      await new Promise<void>((resolve) => process.deliver(resolve))
    },
  }
}
