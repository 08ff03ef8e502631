import { PermanentError, TransientError } from './failure.ts'

const said = (now: number): string => new Date(now).toISOString()

/** What is received with such a clock would be acknowledged, and be past all retention at once. */
export function checkClockAtStart(clockMinMs: number, now: number): void {
  if (now >= clockMinMs) return
  const hint =
    'set it, or start after time-sync: what came in now would be filed under that day, and be past all retention'
  throw new PermanentError({ operation: 'start', subject: `with a clock that says ${said(now)}`, hint })
}

const takenIn = { operation: 'take in', subject: 'a request', hint: 'set it; senders are told to come again' }

/** The time of what is received now, or `done`. Throws TransientError if the clock was set back to an impossible time since the start. */
export function possibleTime(clockMinMs: number, now: number, done = takenIn): number {
  if (now >= clockMinMs) return now
  throw new TransientError({ ...done, subject: `${done.subject} with a clock that says ${said(now)}` })
}

/** Before a verb writes: what it dates with such a clock, and should last for some time, would be over as soon as the clock is right. */
export function checkClockToWrite(clockMinMs: number, now: number, operation: string): void {
  if (now >= clockMinMs) return
  const hint =
    'set it first: what is to last for some time, as an overlap of keys or a build to go back to, would be over once it is right'
  throw new PermanentError({ operation, subject: `with a clock that says ${said(now)}`, hint })
}
