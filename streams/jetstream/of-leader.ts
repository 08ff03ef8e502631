import { readBytesMax } from '../stream.ts'
import { askApi, failureOf, serverCodes } from './api.ts'
import type { Nats } from './nats.ts'
import { storedByLeader, type Stored } from './stored.ts'
import type { LogName } from './subjects.ts'

/** What the leader of a stream has, which is all that was acknowledged. */
export type OfLeader = Readonly<{
  /** The message that fits, in the words of JetStream's API (`STREAM.MSG.GET`); undefined if there is none. */
  message(request: object): Promise<Stored | undefined>
  /** At most `max` messages from a sequence on, one by one; only what has come, but at least one, once `enough` is aborted. */
  run(first: number, max: number, enough?: AbortSignal): Promise<readonly Stored[]>
}>

const runMax = 256

export function createOfLeader(nats: Nats, log: LogName): OfLeader {
  async function message(request: object): Promise<Stored | undefined> {
    const asked = await askApi(nats, `STREAM.MSG.GET.${log.stream}`, request)
    if ('answer' in asked) return storedByLeader(asked.answer)
    if (asked.error.code === serverCodes.messageNotFound) return undefined
    throw failureOf(asked.error, 'read', `stream ${log.stream}`)
  }
  return {
    message,
    run: async (first, max, enough) => {
      const messages: Stored[] = []
      let bytes = 0
      for (let next = first; messages.length < Math.min(max, runMax) && bytes < readBytesMax;) {
        const found = await message({ seq: next, next_by_subj: '>' })
        if (found === undefined) break
        messages.push(found)
        bytes += found.data.length
        if (enough?.aborted === true) break
        next = found.sequence + 1
      }
      return messages
    },
  }
}
