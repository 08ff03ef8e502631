import { file, install, shell, text, type Connection, type Filled, type Guide } from './guide.ts'

const endpointOf = ({ baseUrl }: Filled): string => `${baseUrl}/api/logs/v1/ingest`

const curl: Guide = {
  id: 'curl',
  name: 'curl (a record by hand, or any program that prints lines)',
  steps: (filled) => [
    shell(
      'Send one record.',
      `curl -fsS ${endpointOf(filled)} \\
  -H 'Authorization: Bearer ${filled.secret}' -H 'Content-Type: application/json' \\
  -d '{"level":"info","message":"hello from curl","service":"my-service"}'`,
    ),
    text(
      'JSON lines and plain lines are taken too: send them with --data-binary @FILE and Content-Type application/x-ndjson or text/plain.',
    ),
  ],
}

const pino: Guide = {
  id: 'pino',
  name: 'Node.js (pino)',
  steps: (filled) => [
    install('Install pino and its transport.', 'npm install pino @logtail/pino'),
    file(
      'Save this: a program that logs once.',
      'first-log.mjs',
      `import { pino } from 'pino'

const transport = pino.transport({
  target: '@logtail/pino',
  options: {
    sourceToken: '${filled.secret}',
    options: { endpoint: '${endpointOf(filled)}' },
  },
})
const log = pino({ base: { service: 'my-service' } }, transport)
log.info('hello from Node.js')
`,
    ),
    shell('Run it.', 'node first-log.mjs'),
  ],
}

const python: Guide = {
  id: 'python',
  name: 'Python (logging)',
  steps: (filled) => [
    install('Install the handler.', 'pip install logtail-python'),
    file(
      'Save this: a program that logs once.',
      'first_log.py',
      `import logging

from logtail import LogtailHandler

handler = LogtailHandler(source_token="${filled.secret}", host="${endpointOf(filled)}")
log = logging.getLogger("first")
log.setLevel(logging.INFO)
log.addHandler(handler)
log.info("hello from Python", extra={"service": "my-service"})
handler.flush()
`,
    ),
    shell('Run it.', 'python3 first_log.py'),
  ],
}

/** By default Vector's sink fills a batch up to ten megabytes with any number of records, and drops a batch that is refused for its size. */
const vector: Guide = {
  id: 'vector',
  name: 'Vector',
  steps: (filled) => [
    file(
      'Merge this into its configuration, with the name of your source or transform.',
      'vector.yaml',
      `sinks:
  throughline:
    type: http
    inputs: [your_source]
    uri: ${endpointOf(filled)}
    compression: gzip
    encoding:
      codec: json
    framing:
      method: newline_delimited
    batch:
      max_events: ${filled.recordsPerBatchMax}
    auth:
      strategy: bearer
      token: ${filled.secret}
`,
    ),
  ],
}

/** Fluent Bit splits by bytes alone, at two megabytes. How much a tail holds before it waits can be set. */
const fluentBit: Guide = {
  id: 'fluent-bit',
  name: 'Fluent Bit',
  steps: (filled) => {
    const { hostname, port, protocol, pathname } = new URL(endpointOf(filled))
    const isSecure = protocol === 'https:'
    return [
      file(
        'Merge this into its configuration.',
        'fluent-bit.yaml',
        `pipeline:
  outputs:
    - name: http
      match: '*'
      host: ${hostname}
      port: ${port === '' ? (isSecure ? 443 : 80) : port}
      tls: ${isSecure ? 'on' : 'off'}
      uri: ${pathname}
      format: json_lines
      compress: gzip
      header:
        - Authorization Bearer ${filled.secret}
`,
      ),
      text(
        `Where most lines are shorter than 200 bytes, give the tail input mem_buf_limit: 256k, and a shorter flush to the service if it falls behind. A request holds ${filled.recordsPerBatchMax} records at most; Fluent Bit fills one to 2 MB, however many these are, and drops what is refused for it (413). The usage page counts what was.`,
      ),
      text(
        'In Kubernetes, keep its kubernetes filter: where the fields of a line name no service, the label app.kubernetes.io/name or app of its pod does, else its container. Lines that are JSON are taken apart here.',
      ),
    ]
  },
}

export const logConnection: Connection = {
  id: 'logs',
  name: 'Logs',
  keyKind: 'logs',
  record: 'log record',
  guides: [curl, pino, python, vector, fluentBit],
}
