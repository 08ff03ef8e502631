import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { Logtail } from '@logtail/node'
import pino from 'pino'
import { initializeFaro } from '@grafana/faro-core'
import { FetchTransport } from '@grafana/faro-web-sdk'
const got = []
const s = createServer((q, r) => {
  const c = []
  q.on('data', (d) => c.push(d))
  q.on('end', () => {
    let b = Buffer.concat(c)
    if (q.headers['content-encoding'] === 'gzip') b = gunzipSync(b)
    got.push([q.headers, b])
    r.statusCode = 202
    r.end()
  })
})
s.listen(0, async () => {
  const url = `http://127.0.0.1:${s.address().port}/`
  const l = new Logtail('t', { endpoint: url })
  await l.error('boom', {
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    n: 1,
    big: 12345678901234,
    err: new Error('x'),
    d: new Date(0),
  })
  await l.flush()
  console.log(got[0][0], got[0][1].length)
  const f = initializeFaro({
    app: { name: 'shop', version: '1' },
    transports: [new FetchTransport({ url, apiKey: 'pk' })],
    instrumentations: [],
    isolate: true,
    preventGlobalExposure: true,
    batching: { enabled: true, sendTimeout: 10 },
    metas: [{ session: { id: 's1' }, page: { url: 'http://x/' } }],
  })
  f.api.pushLog(['hello', 1], { level: 'warn' })
  f.api.pushError(new TypeError('bad'))
  f.api.pushEvent('click', { a: '1' })
  f.api.pushMeasurement({ type: 'v', values: { a: 1.5 } })
  setTimeout(() => {
    console.log(got.length, got.at(-1)[0], got.at(-1)[1].toString())
    s.close()
  }, 300)
})
