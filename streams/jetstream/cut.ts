import { setTimeout as sleep } from 'node:timers/promises'
import { positionStep, type Position } from '#src/events/envelope.ts'
import type { FirstEvent } from '../stream.ts'
import { callApi } from './api.ts'
import type { Nats } from './nats.ts'
import type { MessageSource } from './message-source.ts'
import { noteCut, type Ends } from './stream-state.ts'
import { wholePart } from './publish.ts'
import { catchUpPauseMs, catchUpTimeoutMs, behindFailure } from './reader.ts'
import type { LogName } from './subjects.ts'

/** `ends` returns the current ends of the log. */
type Reads = Readonly<{ ends: () => Promise<Ends>; source: MessageSource }>

/** `cut` of the port. The server purges up to a sequence in one step, and keeps counting from the last one. */
export async function cutLog(nats: Nats, log: LogName, { ends, source }: Reads, upTo: Position): Promise<void> {
  const { first, last } = await ends()
  let sequence = Math.min(Math.floor(upTo / positionStep), last)
  if (sequence < first) return
  const { index, count } = (await source.part(sequence)) ?? wholePart
  // An event of several messages is purged whole or not at all; and the last event stays.
  if (index < count) sequence -= index
  else if (sequence === last) sequence -= count
  if (sequence < first) return
  await noteCut(nats, log, sequence)
  const doing = { operation: 'cut', subject: `stream ${log.stream}` }
  await callApi(nats, `STREAM.PURGE.${log.stream}`, { seq: sequence + 1 }, doing)
}

/** `first` of the port. */
export async function firstOf(log: LogName, { ends, source }: Reads): Promise<FirstEvent | undefined> {
  const started = performance.now()
  for (;;) {
    const { first, last, cut } = await ends()
    if (first > last) return undefined
    const { events, damage } = await source.run(first, 1)
    const [event] = events
    if (event !== undefined) return { position: event.position, receivedAt: event.receivedAt, isCut: cut > 0 }
    // If the log was cut just now, the next try begins after the cut.
    if (damage !== undefined && (await ends()).first === first) throw damage
    // No damage: the replica that answered does not have the event yet.
    if (performance.now() - started > catchUpTimeoutMs) throw behindFailure(log)
    if (damage === undefined) await sleep(catchUpPauseMs)
  }
}
