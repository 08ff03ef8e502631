import type { FirstRecord, KeyUse } from '#projections/allowance/query.ts'
import type { Connection } from '../guides/guide.ts'

/** Whether anything has arrived by a key: a sentence, and a link to look further. */
export type Arrival = Readonly<{
  state: 'waiting' | 'refused' | 'arrived'
  text: string
  link: Readonly<{ path: string; text: string }>
}>

const kinds: Readonly<Record<FirstRecord['kind'], string>> = {
  span: 'span',
  log: 'log record',
  rumEvent: 'browser event',
}

const reasons = new Map([
  ['rejected_allowance', 'the monthly span allowance is used up'],
  ['rejected_invalid', 'their ids are not valid'],
  ['rejected_entitlement', 'the plan does not include them'],
])

function linkOf({ kind, service, traceId, sessionId }: FirstRecord): Arrival['link'] {
  if (kind !== 'log' && traceId !== null) return { path: `/app/trace/${traceId}`, text: 'Open its trace' }
  if (kind === 'rumEvent' && sessionId !== null) {
    return { path: `/app/find?id=${encodeURIComponent(sessionId)}`, text: 'Open its session' }
  }
  const filter = service === null ? '' : `?service=${encodeURIComponent(service)}`
  return kind === 'log' ? { path: `/app/logs${filter}`, text: 'See the logs' } : { path: '/app', text: 'Go on' }
}

/** Builds the answer from the key's usage document. `again`: the page that asks again. */
export function arrivalOf({ record }: Connection, use: KeyUse | undefined, again: string): Arrival {
  if (use?.first) {
    const { at, kind, service } = use.first
    const from = service === null ? '' : ` from the service ${service}`
    const time = new Date(at).toISOString().slice(11, 19)
    return {
      state: 'arrived',
      text: `The first ${kinds[kind]} has arrived${from}, at ${time} UTC.`,
      link: linkOf(use.first),
    }
  }
  if (use?.refused) {
    const reason = reasons.get(use.refused.reason) ?? 'they could not be taken'
    return {
      state: 'refused',
      text: `Something has arrived by this key and was rejected: ${reason}. Still waiting for the first ${record}.`,
      link: { path: '/app/usage', text: 'See what was rejected' },
    }
  }
  return { state: 'waiting', text: `Waiting for the first ${record} …`, link: { path: again, text: 'Look again' } }
}
