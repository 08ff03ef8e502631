import type { Month } from '#src/events/allowance.ts'
import { markPassed, resetDateOf, type Grant } from './allowance.ts'

/** How a request's spans fared. */
type SpanOutcome = Readonly<{
  /** Spans of the request, the invalid ones included. */
  total: number
  /** Without usable ids; and why the first of them is so. */
  invalid: number
  firstInvalid: string
  overAllowance: number
  month: Month
  grant: Pick<Grant, 'granted' | 'limit' | 'used' | 'usedBefore'>
}>

const count = (value: number): string => value.toLocaleString('en-US')
const ofSpans = (part: number, total: number): string =>
  `${count(part)} of ${count(total)} span${total === 1 ? '' : 's'}`

function warningOf({ grant, month }: SpanOutcome): string {
  const { limit } = grant
  if (limit === null) return ''
  const after = grant.used + grant.granted
  const crossed = markPassed(limit, grant.usedBefore, after)
  if (crossed === undefined) return ''
  const left = `${count(Math.max(0, limit - after))} spans are left`
  return `${crossed * 100} % of the monthly span allowance of ${count(limit)} is used: ${left} until it resets on ${resetDateOf(month)} (UTC).`
}

/** What the sender is told beyond success: why spans were rejected, or that the allowance is nearly used; '' for nothing. */
export function spanMessage(outcome: SpanOutcome): string {
  const { total, invalid, firstInvalid, overAllowance, grant, month } = outcome
  const parts: string[] = []
  if (overAllowance > 0) {
    const allowance = `The monthly span allowance of ${count(grant.limit ?? 0)} is used up`
    parts.push(`${allowance}: ${ofSpans(overAllowance, total)} rejected. It resets on ${resetDateOf(month)} (UTC).`)
  }
  if (invalid > 0) parts.push(`${ofSpans(invalid, total)} rejected as invalid; the first: ${firstInvalid}.`)
  // Said once, to the request that crosses the mark, even if some of its spans are invalid.
  const warning = overAllowance > 0 ? '' : warningOf(outcome)
  return [...parts, warning].filter(Boolean).join(' ')
}
