import { setTimeout as sleep } from 'node:timers/promises'
import { TransientError } from '#src/lib/failure.ts'

/** A day's index that was made only just before has no shard yet, and a queue that is full has room soon: so long is waited for it. */
const pausesMs = [50, 100, 200, 400, 800, 1_600, 3_200] as const

/** Asks until there is an answer; `ask` gives undefined where a part cannot answer yet, or an error that says why none of it can. */
export async function patiently<T extends object>(
  subject: string | (() => string),
  ask: () => Promise<T | TransientError | undefined>,
): Promise<T> {
  let why: TransientError | undefined
  for (const pauseMs of pausesMs) {
    const answer = await ask()
    if (answer !== undefined && !(answer instanceof TransientError)) return answer
    why = answer
    await sleep(pauseMs)
  }
  const hint = 'some of its shards do not answer'
  throw (
    why ?? new TransientError({ operation: 'search', subject: typeof subject === 'string' ? subject : subject(), hint })
  )
}
