import { DemoError } from './demo-error.ts'
import type { Purchase } from './shoppers.ts'
import { services, type ServiceName } from './shop.ts'
import type { Made } from './services/telemetry.ts'
import type { Visit } from './visit.ts'

const outcomes: readonly (readonly [status: number, outcome: string])[] = [
  [201, 'paid'],
  [402, 'declined'],
  [409, 'sold out'],
  [502, 'failed'],
]

/** What became of the shoppers' orders, in a line. */
export function describePurchases(purchases: readonly Purchase[]): string {
  const counted = outcomes.map(([status, outcome]) => {
    const count = purchases.filter((purchase) => purchase.status === status).length
    return count === 0 ? '' : `${count} ${outcome}`
  })
  const slowest = Math.max(...purchases.map(({ durationMs }) => durationMs))
  return `${purchases.length} orders: ${counted.filter(Boolean).join(', ')}; the slowest took ${Math.round(slowest)} ms`
}

/** What the services have sent, in a line. Throws DemoError when not all of it arrived. */
export function describeMade(made: Readonly<Record<ServiceName, Made>>): string {
  const lost = services.filter((name) => made[name].failure !== null)
  const [first] = lost
  if (first !== undefined)
    throw new DemoError(`Not all that ${lost.join(', ')} made has arrived (${made[first].failure}).`)
  const sum = (what: 'spans' | 'logs'): number => services.reduce((total, name) => total + made[name][what], 0)
  const each = services.map((name) => `${name} ${made[name].spans}`).join(', ')
  return `Sent ${sum('spans')} spans (${each}) and ${sum('logs')} log lines`
}

/** Pages that show what has just been sent: what is on each, and its address. */
function searches(baseUrl: string, purchases: readonly Purchase[], visit: Visit | undefined): [string, string][] {
  const app = `${baseUrl}/app`
  const failed = purchases.find(({ status }) => status === 502)
  const slowest = [...purchases].sort((a, b) => b.durationMs - a.durationMs)[0]
  const found: [string, string][] = [
    ['slowest checkouts', `${app}/traces?service=web&operation=POST+%2Fapi%2Fcheckout&order=longest`],
    ['warnings and errors', `${app}/logs?q=${encodeURIComponent('level>=warn service:(web OR orders OR payments)')}`],
  ]
  if (failed !== undefined) {
    found.unshift(['failed payments', `${app}/traces?service=payments&status=error`])
    found.push(['one failure, all of it', `${app}/trace/${failed.traceId}`])
  }
  if (slowest !== undefined) found.push(['one shopper', `${app}/find?id=${encodeURIComponent(slowest.session)}`])
  if (visit !== undefined) found.push(['the browser visit', `${app}/find?id=${encodeURIComponent(visit.session)}`])
  return found
}

export function describeSearches(baseUrl: string, purchases: readonly Purchase[], visit: Visit | undefined): string {
  const lines = searches(baseUrl, purchases, visit).map(([what, url]) => `  ${what.padEnd(24)}${url}`)
  return [`Sign in at ${baseUrl}/app, then look at`, ...lines].join('\n')
}
