import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import type { NewEvent, Position } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent } from '../support/make-event.ts'
import { readAll } from '../support/read-all.ts'

/** Senders that append to a log until they are stopped, and remember what was acknowledged. */
type Load = Readonly<{
  /** Resolves when so many calls more have been acknowledged. */
  progress(calls: number): Promise<void>
  /** How often the log did not take a call or did not say whether it had. */
  failures(): number
  /** Ends the senders once each call of theirs is acknowledged. */
  stop(): Promise<void>
  /** Reads the log: it holds all that was acknowledged, where it was said to be, and nothing identified twice. */
  audit(stream: Stream): Promise<void>
}>

const sendersOfEach = 4
/** Between two attempts of a sender. */
const retryPauseMs = 10

/** Of each kind some: calls of one event, of two, of lines without ids, and such as expect something of a subject. */
export function startLoad(streams: readonly Stream[]): Load {
  const acknowledged = new Map<string, Position>()
  const waiting: { calls: number; resolve: () => void }[] = []
  const stopping = new AbortController()
  let [calls, failures] = [0, 0]

  const acknowledge = (events: readonly NewEvent[], positions: readonly Position[]): void => {
    for (const [index, { id }] of events.entries()) acknowledged.set(id, positions[index] ?? -1)
    calls++
    for (const each of waiting.filter((one) => one.calls <= calls)) {
      each.resolve()
      waiting.splice(waiting.indexOf(each), 1)
    }
  }

  /** As a sender does: the same again until it is acknowledged. */
  async function insist(stream: Stream, make: () => readonly NewEvent[], again: boolean): Promise<void> {
    let events = make()
    for (;;) {
      try {
        const appended = await stream.append(events)
        return acknowledge(
          events,
          appended.events.map(({ position }) => position),
        )
      } catch (error) {
        expect(error, String(error)).to.be.instanceOf(TransientError)
        failures++
        await pause(retryPauseMs)
        // What has no identity may be stored twice, under two ids.
        if (!again) events = make()
      }
    }
  }

  /** Events of one subject, each of which expects the one before it. */
  async function queueUp(stream: Stream, subject: string): Promise<void> {
    let position = 0
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const event = makeEvent(`${subject}-${turn}`, { subject })
      for (;;) {
        try {
          const { last } = await stream.append([event], { subject, position })
          position = last
          acknowledge([event], [last])
          break
        } catch (error) {
          expect(error, String(error)).to.be.instanceOf(TransientError)
          failures++
          await pause(retryPauseMs)
        }
      }
    }
  }

  async function send(stream: Stream, sender: string): Promise<void> {
    let count = 0
    const kinds = [
      [() => [makeEvent(`${sender}-${count++}`)], true],
      [() => [makeEvent(`${sender}-${count++}`), makeEvent(`${sender}-${count++}`)], true],
      [() => [makeEvent(`${sender}-${count++}`, { identified: false, type: 'logs.received' })], false],
    ] as const
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const [make, again] = kinds[turn % kinds.length] ?? kinds[0]
      await insist(stream, make, again)
    }
  }

  const senders = streams.flatMap((stream, process) => [
    queueUp(stream, `subject-${process}`),
    ...Array.from({ length: sendersOfEach }, (_, sender) => send(stream, `sender-${process}-${sender}`)),
  ])
  const ended = Promise.all(senders)
  return {
    progress: (more) =>
      Promise.race([
        new Promise<void>((resolve) => {
          waiting.push({ calls: calls + more, resolve })
        }),
        ended.then(() => undefined),
      ]),
    failures: () => failures,
    stop: async () => {
      stopping.abort()
      await ended
    },
    audit: async (stream) => {
      const all = await readAll(stream, 500)
      const places = new Map(all.map(({ id, position }) => [id, position]))
      const identified = all.filter((event) => event.identified).map(({ id }) => id)
      const lost = [...acknowledged].filter(([id]) => !places.has(id))
      const moved = [...acknowledged].filter(([id, position]) => places.get(id) !== position)
      expect(lost, 'lost').to.deep.equal([])
      expect(moved, 'elsewhere').to.deep.equal([])
      expect(new Set(identified).size, 'identified once').to.equal(identified.length)
      expect(
        identified.filter((id) => !acknowledged.has(id)),
        'all of it acknowledged in the end',
      ).to.deep.equal([])
    },
  }
}
