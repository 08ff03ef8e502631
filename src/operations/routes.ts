import type { Route } from '#src/http/route.ts'
import { metricsContentType, type Metrics } from './metrics.ts'

type OperationsOptions = Readonly<{
  metrics: Metrics
  /** Whether requests should be sent here: it serves, and is not about to end. */
  isReady: () => boolean
}>

/** What operators and their tools ask, on a listener of its own: not part of the API, and open to whoever reaches it. */
export function createOperationsRoutes({ metrics, isReady }: OperationsOptions): readonly Route[] {
  const route = { method: 'GET', auth: 'public' } as const
  return [
    {
      ...route,
      path: '/health/live',
      handler: (ctx) => {
        ctx.body = 'live\n'
      },
    },
    {
      ...route,
      path: '/health/ready',
      handler: (ctx) => {
        ctx.status = isReady() ? 200 : 503
        ctx.body = isReady() ? 'ready\n' : 'not ready\n'
      },
    },
    {
      ...route,
      path: '/metrics',
      handler: async (ctx) => {
        const text = await metrics.text()
        ctx.set('Content-Type', metricsContentType)
        ctx.body = text
      },
    },
  ]
}
