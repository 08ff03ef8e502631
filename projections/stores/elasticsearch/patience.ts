import { setTimeout as sleep } from 'node:timers/promises'
import { TransientError } from '#src/lib/failure.ts'

/** How long to wait for the shards of an index that has just been created. */
const pausesMs = [50, 100, 200, 400, 800, 1_600, 3_200] as const

/** Asks until there is an answer; `ask` returns undefined while some shard cannot answer. */
export async function patiently<T extends object>(subject: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (const pauseMs of pausesMs) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await sleep(pauseMs)
  }
  throw new TransientError({ operation: 'search', subject, hint: 'some of its shards do not answer' })
}
