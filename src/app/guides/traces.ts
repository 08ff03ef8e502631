import { file, install, shell, text, type Connection, type Filled, type Guide, type Step } from './guide.ts'

const endpointOf = ({ baseUrl }: Filled): string => `${baseUrl}/api/traces/v1/otlp`

/** Variables that every OpenTelemetry SDK reads. Blanks in header values are written as %20 (OTLP exporter specification). */
const variables = (filled: Filled, moreHeaders = ''): string => `export OTEL_SERVICE_NAME=my-service
export OTEL_TRACES_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=${endpointOf(filled)}
export OTEL_EXPORTER_OTLP_TRACES_HEADERS=Authorization=Bearer%20${filled.secret}${moreHeaders}
export OTEL_METRICS_EXPORTER=none
export OTEL_LOGS_EXPORTER=none`

const setVariables = (filled: Filled, moreHeaders?: string): Step =>
  shell(
    'Set these in the shell that starts your program, and give the service its own name.',
    variables(filled, moreHeaders),
  )

const environment: Guide = {
  id: 'environment',
  name: 'Environment variables (any OpenTelemetry SDK)',
  steps: (filled) => [
    setVariables(filled),
    text(
      'Start your program from that shell. Its SDK sends traces here; its metrics and logs exporters are switched off.',
    ),
  ],
}

const node: Guide = {
  id: 'node',
  name: 'Node.js',
  steps: (filled) => [
    install('Install the SDK.', 'npm install @opentelemetry/api @opentelemetry/sdk-node'),
    setVariables(filled),
    file(
      'Save this: a program with one span.',
      'first-span.mjs',
      `import { trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'

const sdk = new NodeSDK()
sdk.start()
trace.getTracer('first').startActiveSpan('hello from Node.js', (span) => span.end())
await sdk.shutdown()
`,
    ),
    shell('Run it.', 'node first-span.mjs'),
    text(
      'Spans of HTTP, databases and queues: add @opentelemetry/auto-instrumentations-node and start your program with node --require @opentelemetry/auto-instrumentations-node/register. It reads the same variables, and shows what was refused only with OTEL_LOG_LEVEL=warn.',
    ),
    text(
      "A program started so is no longer ended by SIGTERM, unless it sees to that itself. Let it close its server: process.on('SIGTERM', () => server.close()). It then ends by itself, and what it has traced is sent; with process.exit() the last five seconds are lost.",
    ),
  ],
}

const python: Guide = {
  id: 'python',
  name: 'Python',
  steps: (filled) => [
    install('Install the SDK.', 'pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http'),
    setVariables(filled),
    file(
      'Save this: a program with one span.',
      'first_span.py',
      `from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

with trace.get_tracer("first").start_as_current_span("hello from Python"):
    pass
provider.shutdown()
`,
    ),
    shell('Run it.', 'python3 first_span.py'),
    text(
      'Spans of web frameworks and databases: add opentelemetry-distro, run opentelemetry-bootstrap -a install, and start your program with opentelemetry-instrument. It reads the same variables. Django needs DJANGO_SETTINGS_MODULE among them: what manage.py or asgi.py sets comes too late.',
    ),
  ],
}

/**
 * Go's HTTP client does not retry a POST whose connection breaks before the answer, and the exporter does not repeat it either. With this header, of
 * any value, the client does retry (net/http, Transport). What was stored by then is recognised by its body and counts once.
 */
const goRepeats = ',X-Idempotency-Key=1'

const go: Guide = {
  id: 'go',
  name: 'Go',
  steps: (filled) => [
    file(
      'Save this in a new folder: a program with one span.',
      'main.go',
      `package main

import (
	"context"
	"log"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx := context.Background()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)

	_, span := otel.Tracer("first").Start(ctx, "hello from Go")
	span.End()

	if err := provider.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
}
`,
    ),
    install('Fetch the SDK.', 'go mod init example.com/first && go mod tidy'),
    setVariables(filled, goRepeats),
    shell('Run it.', 'go run .'),
    text(
      'With X-Idempotency-Key, Go sends again what was under way on a connection that broke; without, it drops that. What is sent twice counts once.',
    ),
  ],
}

const java: Guide = {
  id: 'java',
  name: 'Java',
  steps: (filled) => [
    install(
      'Fetch the OpenTelemetry agent.',
      'curl -fsSLO https://github.com/open-telemetry/opentelemetry-java-instrumentation/releases/latest/download/opentelemetry-javaagent.jar',
    ),
    setVariables(filled),
    shell(
      'Start your program with the agent: it makes spans of HTTP servers, clients and databases by itself.',
      'java -javaagent:opentelemetry-javaagent.jar -jar your-program.jar',
    ),
  ],
}

/**
 * By default a Collector forwards batches without a limit, and drops what is refused for its size. Its exporter splits batches whatever the
 * processors are; the processor that did so, `batch`, is to be removed (v0.177). The exporter counts either spans or bytes, while a request is
 * limited in both: with this many, each span may have 20 KB as sent and 64 KB unpacked, as spans of language models do. `min_size` may not exceed
 * `max_size`, and is 8,192 by default.
 */
const collectorBatchSpans = 1_000

const collector: Guide = {
  id: 'collector',
  name: 'OpenTelemetry Collector',
  steps: (filled) => [
    file(
      `Merge this into its configuration. A Collector that does not know otlp_http is older: call it otlphttp. One that does not take sending_queue.batch needs a batch processor with send_batch_size and send_batch_max_size: ${collectorBatchSpans} instead.`,
      'collector.yaml',
      `receivers:
  otlp:
    protocols:
      grpc:
        endpoint: localhost:4317
      http:
        endpoint: localhost:4318
exporters:
  otlp_http/throughline:
    traces_endpoint: ${endpointOf(filled)}
    headers:
      Authorization: Bearer ${filled.secret}
    sending_queue:
      batch:
        min_size: ${collectorBatchSpans}
        max_size: ${collectorBatchSpans}
service:
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [otlp_http/throughline]
`,
    ),
    text('Restart the Collector; programs send to its ports 4317 (gRPC) and 4318 (HTTP) as before.'),
    text(
      'It drops what it could not send for five minutes, and all that waits when it is killed. To keep both, give the exporter retry_on_failure: { max_elapsed_time: 0 } and a sending_queue.storage (the file_storage extension).',
    ),
  ],
}

/** New ids each time: with the same ids it would be one span received again. */
const curl: Guide = {
  id: 'curl',
  name: 'curl (a span by hand)',
  steps: (filled) => [
    shell(
      'Send one span that has just ended.',
      `curl -fsS ${endpointOf(filled)} \\
  -H 'Authorization: Bearer ${filled.secret}' -H 'Content-Type: application/json' -d '{
  "resourceSpans": [{
    "resource": { "attributes": [{ "key": "service.name", "value": { "stringValue": "my-service" } }] },
    "scopeSpans": [{ "spans": [{
      "traceId": "'"$(openssl rand -hex 16)"'", "spanId": "'"$(openssl rand -hex 8)"'",
      "name": "hello from curl", "kind": 2,
      "startTimeUnixNano": "'"$(date +%s)"'000000000", "endTimeUnixNano": "'"$(date +%s)"'120000000"
    }] }]
  }]
}'`,
    ),
  ],
}

export const traceConnection: Connection = {
  id: 'traces',
  name: 'Traces',
  keyKind: 'tracing',
  record: 'span',
  guides: [environment, node, python, go, java, collector, curl],
}
