import { withoutColours } from '#src/events/tokens.ts'
import { parseTime } from './time.ts'

// The time that programs which write lines of text put at the beginning of each: a whole one, with its zone. One without is that of a place which
// it does not tell, and what stands later was said by the program.

const characters = 128

const iso = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| UTC| GMT| ?[+-]\d\d:?\d\d)`
/** What is from then to another time was said by the program. One behind another is not: `docker logs -t` puts its own before a line. */
const noSpan = String.raw`(?!\]?\s{1,8}(?:[-–—/]|to|till|until|and)\s{1,8}\[?\d{4}-\d\d-\d\d)`
/** Bare, and behind a name as in logfmt: only of a line that tells its level too. In brackets: Envoy, Monolog, gunicorn, PHP. */
const bare = new RegExp(String.raw`^(?:(?:time|ts|timestamp)="?)?(${iso})"?${noSpan}(?=\s{1,8}\S)`)
const bracketed = new RegExp(
  String.raw`^\[(${iso}|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d UTC)${noSpan}(?:\]\s{0,8}\S|\s{1,8}[A-Za-z])`,
)
/** Requests to nginx, Apache and what writes as they do, perhaps behind the name of a host of many. */
const common = /^(?:\S{1,64} ){3,4}\[(\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "/

const dayNs = 86_400_000_000_000n
/** A clock that was never set tells its first year; a Go program writes the year 1 for no time. */
const earliestNs = 365n * dayNs
/** By how much a clock may be ahead, as by its zone: what is later was not written before it was received. */
const aheadNs = dayNs

/** What PostgreSQL adds to a line, in others that tell no level of ours. */
const ofPostgres = / (?:DETAIL|HINT|QUERY|CONTEXT|LOCATION|STATEMENT|DEBUG[1-5]): {2}/

function timeWritten(head: string, hasLevel: boolean): bigint | undefined {
  if (head.startsWith('[')) return parseTime(bracketed.exec(head)?.[1])
  const told = /^[\dt]/.test(head) && (hasLevel || ofPostgres.test(head)) ? bare.exec(head)?.[1] : undefined
  if (told !== undefined) return parseTime(told)
  return head.includes('] "') ? parseTime(common.exec(head)?.[1]) : undefined
}

/** The time, in nanoseconds, at which a line of text says it was written; undefined where it says none, or none that can be. `receivedAt` in ms. */
export function timeInText(message: string, hasLevel: boolean, receivedAt: number): bigint | undefined {
  const start = message.slice(0, characters)
  const head = start.startsWith('\u001b') ? withoutColours(start) : start
  const timeNs = timeWritten(head, hasLevel)
  if (timeNs === undefined || timeNs < earliestNs) return undefined
  return timeNs <= BigInt(Math.trunc(receivedAt)) * 1_000_000n + aheadNs ? timeNs : undefined
}
