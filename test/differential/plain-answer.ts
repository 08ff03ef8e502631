import { parseJson, stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { formatTimeNs, parseRfc3339Ns } from '#src/lib/time.ts'
import { timeOfRecordId } from '#projections/projection.ts'

/** A span of time, in milliseconds of this machine's clock: `from` to `to`, both with some slack for rounding. */
export type Window = Readonly<{ from: number; to: number }>

const dayMs = 86_400_000
const within = (timeNs: bigint | undefined, { from, to }: Window): boolean =>
  timeNs !== undefined && timeNs >= BigInt(from) * 1_000_000n && timeNs <= BigInt(to) * 1_000_000n

// What two servers cannot have in common is when something came, and where their logs have it. Each of these is recognised by its
// own form, and stands for a name that is the same on both; everything else is compared byte for byte.

const timestamp = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z/g
/** Of a log, and of the start of a span. */
const recordIds = /\b[0-9a-f]{16}(?=-[0-9a-f]{32}(?:[0-9a-f]{16})?-[0-9a-z])/g
/** An index that has followed its log to the end. */
const followed = /"index":\{"position":(\d+),"head":\1,"lag_ms":0,"complete":true\}/
const cursors = /"(next_cursor|prev_cursor)":"([\w-]+)\.[\w-]{22}"/g
const fileName = /filename="logs_[\w-]+_\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\./
const requestId = /"request_id":"[\w-]{8,64}"/
/** Of a trace with a span that has no time of its own. */
const untilArrival = /("end":"\(arrival\)","duration_ns":)"\d+"/g

/** A refusal, by whatever id the server's own log calls it. */
export const plainRefusal = (text: string): string => text.replace(requestId, '"request_id":"(request)"')

/** When both were sent telemetry, and asked this question. */
export type Moments = Readonly<{ sending: Window; asking: Window }>

function plainTimes(text: string, { sending, asking }: Moments): string {
  const dayBefore = { from: asking.from - dayMs, to: asking.to - dayMs }
  return text
    .replace(timestamp, (time) => {
      const timeNs = parseRfc3339Ns(time)
      if (within(timeNs, sending)) return '(arrival)'
      return within(timeNs, dayBefore) ? '(a day ago)' : time
    })
    .replace(recordIds, (time) => (within(timeOfRecordId(`${time}-`), sending) ? '(arrival)' : time))
}

type Place = Readonly<{ q: string; k: JsonObject; f?: bigint | number; t?: bigint | number }>

/** What a cursor says, but for positions and for what binds it to a query, which may name a record by its arrival. */
function plainCursor(body: string, moments: Moments): string {
  const { q: _binding, k, f, t } = parseJson(Buffer.from(body, 'base64url').toString()) as unknown as Place
  const key = stringifyJson(k).replace(/"(p|since)":\d+/g, '"$1":"(position)"')
  // A time of arrival in nanoseconds.
  const times = key.replace(/"(t|value)":"(-?\d+)"/g, (all, name: string, ns: string) =>
    within(BigInt(ns), moments.sending) ? `"${name}":"(arrival)"` : all,
  )
  const bound = (ns: bigint | number | undefined): string => (ns === undefined ? '' : formatTimeNs(BigInt(ns)))
  return plainTimes(`${times} from ${bound(f)} to ${bound(t)}`, moments)
}

/** True when an answer with an `index` was given before the index had followed its log: it may lack something. */
export const isBehind = (text: string): boolean => text.includes('"index":{') && !followed.test(text)

/** The answer with a name for everything that is of one server alone. */
export function plainAnswer(text: string, moments: Moments): string {
  const plain = plainRefusal(text)
    .replace(followed, '"index":"(at the head)"')
    .replace(cursors, (_all, name: string, body: string) => `"${name}":"(${plainCursor(body, moments)})"`)
    .replace(fileName, 'filename="logs_(workspace)_(now).')
  return plainTimes(plain, moments).replace(untilArrival, '$1"(until arrival)"')
}
