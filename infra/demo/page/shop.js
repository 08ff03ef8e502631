// The shop's page: a customer's code, with Grafana Faro as its documentation sets it up.
import { getWebInstrumentations, initializeFaro } from '@grafana/faro-web-sdk'
import { TracingInstrumentation } from '@grafana/faro-web-tracing'

/* global RUM_URL, RUM_KEY */
const faro = initializeFaro({
  url: RUM_URL,
  apiKey: RUM_KEY,
  app: { name: 'shop-page', version: '1.0.0' },
  instrumentations: [...getWebInstrumentations(), new TracingInstrumentation()],
})
// The services put it on their spans and log lines, so that a visit is found whole.
const headers = { 'content-type': 'application/json', 'x-session-id': faro.api.getSession().id }
const form = document.querySelector('form')
const receipt = document.querySelector('#receipt')

async function showProducts() {
  const products = await (await fetch('/api/products', { headers })).json()
  const rows = products.map(({ sku, name, cents }) => {
    const label = document.createElement('label')
    const quantity = Object.assign(document.createElement('input'), { type: 'number', name: sku, min: 0, max: 20 })
    quantity.value = sku === 'mug' ? 1 : 0
    label.append(quantity, ` ${name}, ${(cents / 100).toFixed(2)}`)
    return label
  })
  document.querySelector('#products').replaceChildren(...rows)
}

async function order() {
  const { card, ...quantities } = Object.fromEntries(new FormData(form))
  const items = Object.entries(quantities)
    .map(([sku, quantity]) => ({ sku, quantity: Number(quantity) }))
    .filter(({ quantity }) => quantity > 0)
  const response = await fetch('/api/checkout', { method: 'POST', headers, body: JSON.stringify({ items, card }) })
  const answer = await response.json()
  faro.api.pushEvent('checkout', { status: String(response.status), lines: String(items.length) })
  if (!response.ok) faro.api.pushError(new Error(`checkout failed: ${answer.error}`))
  receipt.textContent = `${response.ok ? `Thank you. Order ${answer.order}` : `Sorry: ${answer.error}`}
Trace ${response.headers.get('x-trace-id')}, session ${faro.api.getSession().id}`
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  receipt.textContent = ''
  order().catch((error) => faro.api.pushError(error))
})
showProducts().catch((error) => faro.api.pushError(error))
