import { setTimeout } from 'node:timers/promises'

const dayMs = 86_400_000

/** Waits for the next day (UTC) where this one ends within so many ms: for a test that must not see midnight. */
export async function untilDayLasts(ms: number): Promise<void> {
  const leftMs = dayMs - (Date.now() % dayMs)
  if (leftMs < ms) await setTimeout(leftMs)
}
