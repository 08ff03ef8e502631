import { beforeAll, positionStep, type Position } from '#src/events/envelope.ts'
import type { Clock } from '#src/lib/clock.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { CopyTarget } from '../copy-log.ts'
import type { Nats } from './nats.ts'
import { copiesOf, stepsOf, type Copy, type CopyRules } from './copies.ts'
import { createIds } from './ids.ts'
import { createMessageSource } from './message-source.ts'
import { createOfLeader } from './of-leader.ts'
import { endsOf, streamInfo } from './stream-state.ts'
import { createPublisher } from './publish.ts'
import { createSubjects, logName, type LogName } from './subjects.ts'

type CopyTargetOptions = Readonly<{
  /** `0`, `1`, … or `directoryPartition`; made by `provisionLogs`. */
  partition: string
  prefix?: string
  /** Epoch of the log that is copied. */
  source: string
  /** Each event stands where it stood. */
  keepsPositions: boolean
  clock: Clock
}>

/** The end of the stream: its last message, and the position of that message's last event in the source. */
type Place = Readonly<{ sequence: number; position: Position }>

/** The source position named by a stream's last message. Throws PermanentError if it is not from this source. */
function positionOf(copied: string, { stream }: LogName, source: string): Position {
  const [epoch, position] = copied.split('/')
  if (epoch === source) return Number(position)
  const what = copied === '' ? 'events that are no copies: a cluster has written to it' : 'the copy of another log'
  const hint = 'copy to streams of your own (INDEX_PREFIX), or stop the cluster, remove its streams and begin again'
  throw new PermanentError({ operation: 'copy to', subject: `stream ${stream}, which holds ${what}`, hint })
}

/** A server that had no room for all of a step counts messages that it has not stored. What follows them could not be read. */
function lostEnd({ stream }: LogName): PermanentError {
  const hint =
    'it is not there, as where NATS had no room for it (see its /healthz): make room, restart NATS, remove all streams of this installation ' +
    '(nats stream rm) and run this again'
  return new PermanentError({ operation: 'read the last message of', subject: `stream ${stream}`, hint })
}

/**
 * The log of one partition as the target of a copy. Each message names its source position, so the last one tells how far the copy is. Each
 * step expects to follow that message, so nothing is written twice or in between, whoever else writes.
 */
export async function openCopyTarget(nats: Nats, options: CopyTargetOptions): Promise<CopyTarget> {
  const { partition, prefix, source, keepsPositions, clock } = options
  const log = logName(partition, prefix)
  const name = `stream ${log.stream}`
  const epoch = (await streamInfo(nats, log.stream))?.config.metadata['epoch']
  if (epoch === undefined) {
    throw new PermanentError({ operation: 'copy to', subject: name, hint: 'it has not been made' })
  }
  const subjects = createSubjects(log, epoch)
  const ends = () => endsOf(nats, log, epoch)
  const publisher = createPublisher(nats, name, ends)
  const ids = createIds(subjects, publisher, createMessageSource(nats, log, subjects))
  const ofLeader = createOfLeader(nats, log)

  const place = async (): Promise<Place> => {
    const { last: sequence } = await ends()
    if (sequence === 0) return { sequence, position: beforeAll }
    const last = await ofLeader.message({ seq: sequence })
    if (last === undefined) throw lostEnd(log)
    return { sequence, position: positionOf(last.copied, log, source) }
  }

  function checkPlaces(step: readonly Copy[], { sequence }: Place): void {
    const moved = step.find(
      ({ message, last }, index) =>
        publisher.messagesOf(message) !== 1 || last.position !== (sequence + index + 1) * positionStep,
    )
    if (moved === undefined) return
    const hint = 'raise the server’s max_payload if it is large, and begin again with an empty stream'
    throw new PermanentError({ operation: `copy position ${moved.last.position} to its place in`, subject: name, hint })
  }

  /** The end after a step; undefined if one of its ids is known already. */
  async function publish(step: readonly Copy[], { sequence }: Place): Promise<Place | undefined> {
    const messages = step.map(({ message }, index) => (index === 0 ? { ...message, expected: { sequence } } : message))
    const published = await publisher.publish(messages)
    if (published.kind === 'stored') {
      return { sequence: published.sequences.at(-1) ?? sequence, position: step.at(-1)?.last.position ?? beforeAll }
    }
    if (published.kind !== 'conflict') return undefined
    throw new TransientError({ operation: 'copy to', subject: name, hint: 'another process has just written to it' })
  }

  /** Publishes a copy under a free id: the log has its id twice within this hour, because a clock was set back. */
  async function publishAnew(copy: Copy, end: Place): Promise<Place> {
    const { freeKey } = await ids.seek(copy.last.id, copy.last.receivedAt)
    const published = await publish([{ ...copy, message: { ...copy.message, id: freeKey } }], end)
    if (published !== undefined) return published
    throw new TransientError({ operation: 'copy to', subject: name, hint: 'its ids are being taken' })
  }

  async function publishApart(step: readonly Copy[], before: Place): Promise<Place> {
    let end = before
    for (const copy of step) end = (await publish([copy], end)) ?? (await publishAnew(copy, end))
    return end
  }

  return {
    copied: async () => (await place()).position,
    append: async (events) => {
      if (events.length === 0) return
      let end = await place()
      const { position } = end
      const messageBytesMax = publisher.messageBytesMax()
      const rules: CopyRules = { subjects, source, keepsPositions, messageBytesMax, now: clock() }
      const copies = copiesOf(
        events.filter((event) => event.position > position),
        rules,
      )
      for (const step of stepsOf(copies, publisher.messagesOf)) {
        if (keepsPositions) checkPlaces(step, end)
        end = (await publish(step, end)) ?? (await publishApart(step, end))
      }
    },
  }
}
