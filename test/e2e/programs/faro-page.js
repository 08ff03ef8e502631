// A customer's page: Faro set up as its documentation says, a log, an error, an event, a measurement and a span.
// The address names url and key; `facts` are what a test looks for.
import { getWebInstrumentations, initializeFaro } from '@grafana/faro-web-sdk'
import { TracingInstrumentation } from '@grafana/faro-web-tracing'

const settings = new URLSearchParams(location.search)
const faro = initializeFaro({
  url: settings.get('url'),
  apiKey: settings.get('key'),
  app: { name: 'shop-web', version: '2.0.1' },
  instrumentations: [...getWebInstrumentations(), new TracingInstrumentation()],
})
faro.api.setUser({ id: 'u-42' })
faro.api.pushLog(['basket opened ✓'], { level: 'warn', context: { items: '3' } })
faro.api.pushError(new Error('payment widget failed'))
faro.api.pushEvent('purchase', { total: '12.50' })
faro.api.pushMeasurement({ type: 'checkout', values: { total_ms: 123.5 } })
const { trace, context } = faro.api.getOTEL()
const span = trace.getTracer('shop').startSpan('checkout click')
context.with(trace.setSpan(context.active(), span), () => faro.api.pushLog(['inside the span']))
span.end()
const { traceId, spanId } = span.spanContext()
globalThis.facts = { session: faro.api.getSession().id, traceId, spanId }
