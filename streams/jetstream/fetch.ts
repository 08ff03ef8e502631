import { TransientError } from '#src/lib/failure.ts'
import { readBytesMax } from '../stream.ts'
import { noLeaderHint } from './api.ts'
import type { Nats, Received } from './nats.ts'
import type { OfLeader } from './of-leader.ts'
import { ForbiddenError } from './presence.ts'
import { storedOf, type Stored } from './stored.ts'
import { goneFailure, streamInfo, type StreamInfo } from './stream-state.ts'
import type { LogName } from './subjects.ts'

/** At most `count` messages from a sequence on. */
export type Fetch = (sequence: number, count: number) => Promise<readonly Stored[]>

/** Why nobody answers who has a copy of a stream that is there. */
const hintOf = ({ config }: StreamInfo): string =>
  config.allow_direct ? noLeaderHint : 'somebody has taken its allow_direct away: set it to true'

/** Mirrors answer too. One may begin later, be limited, or leave subjects out: what it lacks is neither missing nor erased. */
const isOfMirror = (received: readonly Received[], { stream }: LogName): boolean =>
  received.some(({ header }) => header('Nats-Stream') !== stream)

const isWhole = (messages: readonly Stored[], first: number): boolean =>
  messages.every(({ sequence }, index) => sequence === first + index)

/**
 * Reads messages from any copy; where that is late, from the leader too, until the copy has answered or is given up. Servers go on choosing a
 * copy on one that hangs until they know that it does; one that is only slow is not asked for each message by itself.
 */
export function createFetch(nats: Nats, log: LogName, ofLeader: OfLeader, warn: (line: string) => void): Fetch {
  let isForbidden = false
  async function ofCopy(sequence: number, count: number, onLate: () => void): Promise<readonly Stored[]> {
    const request = JSON.stringify({ seq: sequence, batch: count, max_bytes: readBytesMax })
    const received = await nats.requestMany(`$JS.API.DIRECT.GET.${log.stream}`, request, onLate)
    const status = received.at(-1)?.code
    if (status === 204 || status === 404) {
      const given = received.slice(0, -1)
      const messages = given.map(storedOf)
      return isOfMirror(given, log) && !isWhole(messages, sequence) ? ofLeader.run(sequence, count) : messages
    }
    const info = status === 503 ? await streamInfo(nats, log.stream) : undefined
    if (status === 503 && info === undefined) throw goneFailure(log, 'read')
    const hint = info === undefined ? `the server answers ${status ?? 'nothing'}` : hintOf(info)
    throw new TransientError({ operation: 'read', subject: `stream ${log.stream}`, hint })
  }

  /** Who may not ask the copies reads from the leader, which is slow. */
  async function ofCopyOrLeader(sequence: number, count: number, onLate: () => void): Promise<readonly Stored[]> {
    try {
      const messages = await ofCopy(sequence, count, onLate)
      isForbidden = false
      return messages
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error
      const messages = await ofLeader.run(sequence, count)
      if (!isForbidden) warn(`stream ${log.stream} is read message by message, which is slow: ${error.message}`)
      isForbidden = true
      return messages
    }
  }

  return async (sequence, count) => {
    const late = Promise.withResolvers<undefined>()
    const copy = ofCopyOrLeader(sequence, count, () => late.resolve(undefined))
    const inTime = await Promise.race([copy, late.promise])
    if (inTime !== undefined) return inTime
    const over = new AbortController()
    const end = (): void => over.abort()
    copy.then(end, end)
    const either = Promise.any([copy, ofLeader.run(sequence, count, over.signal)])
    return either.catch((error: AggregateError) => {
      // The leader's.
      throw error.errors.at(-1)
    })
  }
}
