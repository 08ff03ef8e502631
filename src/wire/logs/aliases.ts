// The names that senders use for one thing, in order of precedence. A dot also means nesting.
// The common names come first, then those of single loggers: Serilog's compact format (`@t @l @m @mt @tr @sp`), Python's JSON formatters (`asctime`;
// loguru's `record.level.name`, and `record.message` before the whole line that it has in `text`), Rust's tracing-subscriber (`fields.message`),
// journald (`MESSAGE`), GELF (`_trace_id`), log4j (`instant`, `contextMap`, `mdc`), logback (`formattedMessage`, beside its template), PHP's Monolog
// (`level_name`, `context`, `extra`), syslog-ng (`ISODATE`), Logtail's appender for logback (`meta`), .NET (Serilog's `Level` and `RenderedMessage`,
// the JSON console's `LogLevel` and `Message`), HashiCorp's hclog (`@level @message`), PostgreSQL (`error_severity`), Spring Boot's GELF
// (`_traceId`), Grafana's programs in Go (`traceID`), Google Cloud's structured logging (`timestampSeconds`, `logging.googleapis.com/trace`,
// `serviceContext`), roarr (`context.logLevel`), MongoDB (`t.$date`), LogTape (`properties`), LogLayer (`metadata`), Rust's json-subscriber
// (`openTelemetry`) and logforth (`diags`), AWS's Powertools (`xray_trace_id`), Axiom's logger (`fields`), pino in browsers (`messages`,
// `level.label`), structlog's guide (`span.trace_id`), and what the tracers of OpenTelemetry and Datadog add to logs of Python and Node
// (`otelServiceName`, `dd.service`; with loguru in `record.extra`).
// Last come the names that shippers use for a container without a service name: Fluent Bit and Fluentd (`kubernetes.labels`), Vector
// (`kubernetes.pod_labels`), Elastic (`kubernetes.container.name`), Docker (`container_name`; in journald `CONTAINER_NAME`, where `SYSLOG_IDENTIFIER`
// is the container's id), syslog (`appname`, `ident`).

/** If you change these, raise the version of the projection of logs: it does not index the field that gives the time as text. */
export const timeNames = [
  'timestamp',
  '@timestamp',
  'time',
  'ts',
  'dt',
  'date',
  'datetime',
  '_time',
  'created',
  'timeUnixNano',
  '@t',
  'asctime',
  'instant',
  'timeMillis',
  'record.time.timestamp',
  'ISODATE',
  '__REALTIME_TIMESTAMP',
  'Timestamp',
  'timestampSeconds',
  't.$date',
] as const

export const levelNames = [
  'level',
  'severity',
  'severity_text',
  'severityText',
  'log.level',
  'levelname',
  'lvl',
  'loglevel',
  '@l',
  'record.level.name',
  'level_name',
  'Level',
  'LogLevel',
  '@level',
  'error_severity',
  'context.logLevel',
  'level.label',
  'log_level',
  'logLevel',
  'Severity',
] as const

/** OpenTelemetry's severity numbers, under names that nothing else uses. */
export const severityNumberNames = ['severityNumber', 'severity_number'] as const

/** Syslog's severity: a number in journald, a word in syslog-ng. */
export const syslogNumberNames = ['PRIORITY'] as const

/** If you change these, raise the version of the projection of logs: its index uses them (projections/reading/record-tokens.ts). */
export const messageNames = [
  'formattedMessage',
  'message',
  'msg',
  'body',
  'log',
  'record.message',
  'text',
  'short_message',
  'event',
  'content',
  '@m',
  '@mt',
  'fields.message',
  'MESSAGE',
  'RenderedMessage',
  'Message',
  'MessageTemplate',
  '@message',
  'messages',
] as const
export const traceNames = [
  'trace_id',
  'traceId',
  'TraceId',
  'trace.id',
  'otelTraceID',
  'dd.trace_id',
  '@tr',
  '_trace_id',
  'contextMap.trace_id',
  'mdc.trace_id',
  'contextMap.traceId',
  'mdc.traceId',
  'fields.trace_id',
  'context.trace_id',
  'extra.trace_id',
  'meta.trace_id',
  'record.extra.trace_id',
  '_traceId',
  'traceID',
  'logging.googleapis.com/trace',
  'properties.trace_id',
  'metadata.trace_id',
  'metadata.traceId',
  'xray_trace_id',
  'openTelemetry.traceId',
  'span.trace_id',
  'TraceID',
  'traceid',
  'trace-id',
  'diags.trace_id',
  'record.extra.otelTraceID',
] as const
export const spanNames = [
  'span_id',
  'spanId',
  'SpanId',
  'span.id',
  'otelSpanID',
  'dd.span_id',
  '@sp',
  '_span_id',
  'contextMap.span_id',
  'mdc.span_id',
  'contextMap.spanId',
  'mdc.spanId',
  'fields.span_id',
  'context.span_id',
  'extra.span_id',
  'meta.span_id',
  'record.extra.span_id',
  '_spanId',
  'spanID',
  'logging.googleapis.com/spanId',
  'properties.span_id',
  'metadata.span_id',
  'metadata.spanId',
  'openTelemetry.spanId',
  'span.span_id',
  'SpanID',
  'spanid',
  'span-id',
  'diags.span_id',
  'record.extra.otelSpanID',
] as const
export const sessionNames = [
  'session_id',
  'sessionId',
  'session.id',
  'rum.sessionId',
  'faro.session.id',
  '@fields.session_id',
] as const
export const serviceNames = [
  'service',
  'service.name',
  'service_name',
  'app',
  'application',
  'record.extra.service',
  'CONTAINER_NAME',
  'SYSLOG_IDENTIFIER',
  'PROGRAM',
  'otelServiceName',
  'record.extra.otelServiceName',
  'dd.service',
  'serviceContext.service',
  'resource.service.name',
  'resource.attributes.service.name',
  'fields.service',
  'appname',
  'programname',
  'ident',
  'kubernetes.labels.app.kubernetes.io/name',
  'kubernetes.labels.app_kubernetes_io/name',
  'kubernetes.labels.app',
  'kubernetes.pod_labels.app.kubernetes.io/name',
  'kubernetes.pod_labels.app',
  'kubernetes.container_name',
  'kubernetes.container.name',
  'container_name',
  'container.name',
] as const

/**
 * Groups of names by which a record may say the same. What it says by one name of a group overrides what stands beside its list by another.
 * Without `fields.service`: with it, any member called `fields` would hide the service beside the list.
 */
export const namesOfOneThing: readonly (readonly string[])[] = [
  timeNames,
  [...levelNames, ...severityNumberNames, ...syslogNumberNames, 'status'],
  messageNames,
  [...traceNames, ...spanNames, 'traceparent'],
  sessionNames,
  serviceNames.filter((name) => name !== 'fields.service'),
]

/** Keys that make an object a record, even if it has an array called `logs` or `events`. */
const messages: ReadonlySet<string> = new Set(messageNames)
export const isMessageName = (key: string): boolean => messages.has(key)
/** Keys that also make an object a record, unless the values of that array have messages of their own. */
const levels: ReadonlySet<string> = new Set(levelNames)
export const isLevelName = (key: string): boolean => levels.has(key)

/** The keys of the wrappers `{"logs":[…]}` and `{"events":[…]}`; the first that holds records counts. */
export const wrapperNames: readonly string[] = ['logs', 'events']

/** The lists of OTLP requests, in proto3 JSON's camel case and in snake case. A body with one of them is a request, not a log record. */
export const otlpLists: readonly string[] = [
  'resourceLogs',
  'resourceSpans',
  'resourceMetrics',
  'resource_logs',
  'resource_spans',
  'resource_metrics',
]

/** The one member of a push to Grafana Loki. */
export const lokiList = 'streams'
