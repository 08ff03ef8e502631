import { setImmediate } from 'node:timers/promises'

/** All answers to a question that is asked again and again, from before a change until after it. */
export async function answersDuring<T>(ask: () => Promise<T>, change: () => Promise<unknown>): Promise<readonly T[]> {
  const answers = [await ask()]
  const over = new AbortController()
  const asking = async (): Promise<void> => {
    while (!over.signal.aborted) {
      answers.push(await ask())
      await setImmediate()
    }
  }
  const asked = asking()
  try {
    await change()
  } finally {
    over.abort()
    await asked
  }
  return [...answers, await ask()]
}
