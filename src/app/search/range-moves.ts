import { parseTimeNs } from '#src/events/point-in-time.ts'
import { dayMs } from '#src/lib/day.ts'
import { shortTime } from '../format.ts'
import { html, type Html } from '../html.ts'
import { planHasPage } from '../plan-has.ts'
import { addressWith, withConditions } from './conditions.ts'
import type { Search } from './narrow.ts'
import type { Asked } from './asked.ts'

type Range = Readonly<{ from: string | null; to: string | null }>

type Ends = Readonly<{ from: string; to?: string }>

/**
 * Neighbouring ranges: the one before, of the same length; the one after, without an end if it reaches the present; about twice as long; and the same
 * time a day before.
 */
function movesOf({ from, to }: Readonly<{ from: string; to: string | null }>, nowMs: number) {
  const [fromMs, toMs] = [Date.parse(from), to === null ? nowMs : Date.parse(to)]
  const lengthMs = Math.max(1, toMs - fromMs)
  const until = (ms: number): { to?: string } => (ms >= nowMs ? {} : { to: shortTime(ms) })
  const before = (ms: number): string => shortTime(Math.max(0, fromMs - ms))
  const moves: (readonly [string, Ends])[] = []
  if (fromMs > 0) moves.push(['Earlier', { from: before(lengthMs), to: from }])
  if (to !== null && toMs < nowMs) moves.push(['Later', { from: to, ...until(toMs + lengthMs) }])
  const halfMs = Math.ceil(lengthMs / 2)
  if (fromMs > 0) {
    moves.push(['Wider', to === null ? { from: before(lengthMs) } : { from: before(halfMs), ...until(toMs + halfMs) }])
  }
  if (lengthMs < dayMs && fromMs > dayMs) {
    moves.push(['Day before', { from: shortTime(fromMs - dayMs), to: shortTime(toMs - dayMs) }])
  }
  return moves
}

/** Whether both ends are absolute times, so that the address means the same tomorrow and to others. */
const isFixed = (conditions: URLSearchParams, nowMs: number): boolean =>
  ['from', 'to'].every((name) => {
    const end = conditions.get(name)
    return end !== null && parseTimeNs(end, nowMs) === parseTimeNs(end, nowMs + dayMs)
  })

/** The current search and its workspace's plan. */
type Moved = Pick<Asked, 'conditions' | 'plan'>

/** Conditions that log and trace searches share; session searches share some of them. */
const ofBoth: readonly string[] = ['service', 'trace_id', 'session_id', 'from', 'to']

/**
 * A link from logs or patterns to the traces of the same range and service, from traces to logs, and from sessions to logs. Empty if the plan lacks
 * that search.
 */
function otherOfRange(path: Search['path'], { conditions, plan }: Moved): Html {
  const isOfLogs = path === '/app/logs' || path === '/app/patterns'
  const [other, words] = isOfLogs ? ['/app/traces', 'Traces'] : ['/app/logs', 'Logs']
  if (!planHasPage({ plan }, other)) return html``
  const kept = new URLSearchParams([...conditions].filter(([name]) => ofBoth.includes(name))).toString()
  return html`<a href="${other}${kept === '' ? '' : `?${kept}`}">${words} of this time</a> `
}

/**
 * Links to neighbouring ranges, a wider one, the day before, and the same range in absolute times; and to the other search of this range. Empty if
 * the range has no beginning.
 */
export function rangeMoves(path: Search['path'], moved: Moved, { from, to }: Range, nowMs: number): Html {
  if (from === null) return html``
  const { conditions } = moved
  const fixed = ['Share', { from: shortTime(Date.parse(from)), to: to ?? shortTime(nowMs) }] as const
  const moves = [...movesOf({ from, to }, nowMs), ...(isFixed(conditions, nowMs) ? [] : [fixed])]
  const or = moves.length === 0 ? html`` : html`<span class="note">or</span> `
  return html`${or}${moves.map(([words, ends]) => {
    const address = addressWith(path, withConditions(conditions, { to: null }), ends)
    const tip =
      words === fixed[0]
        ? html`title="The same search from and to fixed times, which is the same for whoever opens it, and later"`
        : html``
    return html`<a href="${address}" ${tip}>${words}</a> `
  })}${otherOfRange(path, moved)}`
}
