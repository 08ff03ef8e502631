import { setTimeout as sleep } from 'node:timers/promises'
import { TransientError } from '#src/lib/failure.ts'

/** A day's index that was made only just before has no shard yet: so long is waited for it. */
const pausesMs = [50, 100, 200, 400, 800, 1_600, 3_200] as const

/** Asks until there is an answer; `ask` gives undefined where a part cannot answer yet. */
export async function patiently<T extends object>(
  subject: string | (() => string),
  ask: () => Promise<T | undefined>,
): Promise<T> {
  for (const pauseMs of pausesMs) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await sleep(pauseMs)
  }
  const hint = 'some of its shards do not answer'
  throw new TransientError({ operation: 'search', subject: typeof subject === 'string' ? subject : subject(), hint })
}
