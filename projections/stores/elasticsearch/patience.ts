import { setTimeout as sleep } from 'node:timers/promises'
import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { LargeAnswerError, type Answer, type Call, type Elasticsearch } from './call.ts'
import { busyHint, isTooLarge, reasonOf } from './reasons.ts'

/** A day's index that was made only just before has no shard yet, and a queue that is full has room soon: so long is waited for it. */
const pausesMs = [50, 100, 200, 400, 800, 1_600, 3_200] as const

/**
 * For three seconds, where all projections of a partition wait meanwhile, as for one that loads: after five without a heartbeat nobody would be
 * known to fold them.
 */
export const shortPausesMs = pausesMs.slice(0, 6)

/** Asks until there is an answer; `ask` returns why there is none yet, which is thrown in the end. */
export async function patiently<T extends object>(
  ask: () => Promise<T | TransientError>,
  pauses: readonly number[] = pausesMs,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    const answer = await ask()
    if (!(answer instanceof TransientError)) return answer
    const pauseMs = pauses[tries]
    if (pauseMs === undefined) throw answer
    await sleep(pauseMs)
  }
}

/** Why there is no answer where a part of it is missing. */
export const partMissing = (subject: string): TransientError =>
  new TransientError({ operation: 'search', subject, hint: 'some of its shards do not answer' })

/** Why a call had no room (429). What a circuit breaker stopped is not asked again as it was, if a smaller request would do. */
function noRoom({ operation, subject, bytesMax }: Call, answer: JsonObject): TransientError {
  const reason = reasonOf(answer)
  const cause = new Error(reason)
  if (bytesMax !== undefined && isTooLarge(reason)) throw new LargeAnswerError(subject, { cause })
  return new TransientError({ operation, subject, hint: busyHint, cause })
}

/**
 * Sends a call that reads, again as long as there is no room for it (429), no shard that answers (503), or an answer that is none for
 * `isAnswer`.
 */
export const sendPatiently = (
  elasticsearch: Elasticsearch,
  call: Call,
  isAnswer: (answer: Answer) => boolean = () => true,
): Promise<Answer> =>
  patiently(async () => {
    const answer = await elasticsearch.send({ ...call, mayRepeat: true, accept: [...(call.accept ?? []), 429, 503] })
    if (answer.status === 429) return noRoom(call, answer.body)
    return answer.status !== 503 && isAnswer(answer) ? answer : partMissing(call.subject)
  })
