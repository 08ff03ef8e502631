import { TransientError } from '#src/lib/failure.ts'
import { readBytesMax } from '../stream.ts'
import { noLeaderHint } from './api.ts'
import type { Nats } from './nats.ts'
import type { OfLeader } from './of-leader.ts'
import { storedOf, type Stored } from './stored.ts'
import { goneFailure, streamInfo } from './stream-state.ts'
import type { LogName } from './subjects.ts'

/** At most `count` messages from a sequence on. */
type Fetch = (sequence: number, count: number) => Promise<readonly Stored[]>

/**
 * Reads messages from any copy; where that is late, from the leader too, until the copy has answered or is given up. Servers go on choosing a
 * copy on one that hangs until they know that it does; one that is only slow is not asked for each message by itself.
 */
export function createFetch(nats: Nats, log: LogName, ofLeader: OfLeader): Fetch {
  async function ofCopy(sequence: number, count: number, onLate: () => void): Promise<readonly Stored[]> {
    const request = JSON.stringify({ seq: sequence, batch: count, max_bytes: readBytesMax })
    const received = await nats.requestMany(`$JS.API.DIRECT.GET.${log.stream}`, request, onLate)
    const status = received.at(-1)?.code
    if (status === 204 || status === 404) return received.slice(0, -1).map(storedOf)
    if (status === 503 && (await streamInfo(nats, log.stream)) === undefined) throw goneFailure(log, 'read')
    const hint = status === 503 ? noLeaderHint : `the server answers ${status ?? 'nothing'}`
    throw new TransientError({ operation: 'read', subject: `stream ${log.stream}`, hint })
  }

  return async (sequence, count) => {
    const late = Promise.withResolvers<undefined>()
    const copy = ofCopy(sequence, count, () => late.resolve(undefined))
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
