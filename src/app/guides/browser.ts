import { file, install, shell, text, type Connection, type Filled, type Guide } from './guide.ts'

const endpointOf = ({ baseUrl }: Filled): string => `${baseUrl}/api/rum/v1/ingest`

const faro: Guide = {
  id: 'faro',
  name: 'Grafana Faro',
  steps: (filled) => [
    install('Install the SDK for browsers.', 'npm install @grafana/faro-web-sdk'),
    file(
      'Load this first in your page’s bundle. Page views, errors, web vitals and the session are sent by themselves.',
      'telemetry.js',
      `import { initializeFaro } from '@grafana/faro-web-sdk'

initializeFaro({
  url: '${endpointOf(filled)}',
  apiKey: '${filled.secret}',
  app: { name: 'my-shop', version: '1.0.0' },
})
`,
    ),
    text('Then open the page. Spans of the page too: add TracingInstrumentation of @grafana/faro-web-tracing.'),
  ],
}

const curl: Guide = {
  id: 'curl',
  name: 'curl (an event by hand)',
  steps: (filled) => [
    shell(
      'Send what a page would send.',
      `curl -fsS ${endpointOf(filled)} \\
  -H 'Authorization: Bearer ${filled.secret}' -H 'Content-Type: application/json' \\
  -d '{"session_id":"my-session","events":[{"type":"page_view","timestamp":'"$(date +%s)"'000}]}'`,
    ),
  ],
}

export const browserConnection: Connection = {
  id: 'browser',
  name: 'Browser events',
  keyKind: 'publishable',
  record: 'browser event',
  guides: [faro, curl],
}
