import { withoutColours } from '#src/events/tokens.ts'
import { parseTime } from './time.ts'

// The time that programs which write lines of text put at the beginning of each: a whole one, with its zone. One without is that of a place which
// it does not tell, and what stands later was said by the program.

const characters = 128

const iso = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| UTC| ?[+-]\d\d:?\d\d)`
/** Bare, and behind a name as in logfmt: only of a line that tells its level too. In brackets: Envoy, Monolog, gunicorn, PHP. */
const bare = new RegExp(String.raw`^(?:(?:time|ts|timestamp)="?)?(${iso})(?=["\s]|$)`)
const bracketed = new RegExp(String.raw`^\[(${iso}|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d UTC)[\]\s]`)
/** Requests to nginx, Apache and what writes as they do. */
const common = /^\S{1,64} \S{1,64} \S{1,64} \[(\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "/

/** The time, in nanoseconds, at which a line of text says it was written; undefined where it says none. */
export function timeInText(message: string, hasLevel: boolean): bigint | undefined {
  const start = message.slice(0, characters)
  const head = start.startsWith('\u001b') ? withoutColours(start) : start
  if (head.startsWith('[')) return parseTime(bracketed.exec(head)?.[1])
  const told = hasLevel && /^[\dt]/.test(head) ? bare.exec(head)?.[1] : undefined
  if (told !== undefined) return parseTime(told)
  return head.includes('] "') ? parseTime(common.exec(head)?.[1]) : undefined
}
