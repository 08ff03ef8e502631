import type { IndexName } from '../../index-store.ts'
import { forbidAutomatic } from './indices.ts'
import { noteDays } from './known-days.ts'
import type { Place } from './place.ts'

/** How often it is asked whether any index has changed; then, and this often, one looks whether all day indices are there and open. */
const askEveryMs = 5_000
const lookEveryMs = 60_000

/** Puts the template that forbids automatic creation of our indices there again, in case somebody removed it: once a minute, for all builds. */
export function createForbid(place: Place, now: () => number): () => Promise<void> {
  let askedAt = now()
  return async () => {
    if (now() - askedAt < lookEveryMs) return
    askedAt = now()
    await forbidAutomatic(place).catch((error: unknown) => {
      askedAt = -Infinity
      throw error
    })
  }
}

/**
 * Misses the day indices of a build that somebody removed while nothing was written to them; or, where the template was removed as well, that a
 * write has made anew with another mapping, which no search can use. And those that somebody has closed.
 */
export function createDayWatch(
  place: Place,
  index: IndexName,
  isKnown: (name: string) => boolean,
  { now, forbid }: Readonly<{ now: () => number; forbid: () => Promise<void> }>,
) {
  let [askAt, lookAt, seenVersion] = [now() + askEveryMs, now() + lookEveryMs, 0]
  return {
    /** Looks, if it is time. */
    async look(): Promise<void> {
      if (now() < askAt) return
      const version = await place.stateVersion()
      askAt = now() + askEveryMs
      if (version === seenVersion && now() < lookAt) return
      await forbid()
      // An older record may have been put back, which lacks some names.
      await noteDays(place, index, isKnown)
      ;[seenVersion, lookAt] = [version, now() + lookEveryMs]
    },
    /** A task fails if it needs an index that somebody has closed. So after a failure the next heartbeat looks at once. */
    async orLookSoon<T>(task: Promise<T>): Promise<T> {
      try {
        return await task
      } catch (error) {
        askAt = lookAt = -Infinity
        throw error
      }
    },
  }
}
