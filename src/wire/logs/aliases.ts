/** The names that senders use for one thing, in the order in which they are believed. A dot also means nesting. */
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
] as const

/** OpenTelemetry's numbers, whatever else they could mean. */
export const severityNumberNames = ['severityNumber', 'severity_number'] as const

export const messageNames = ['message', 'msg', 'body', 'log', 'text', 'short_message', 'event', 'content'] as const
export const traceNames = ['trace_id', 'traceId', 'TraceId', 'trace.id', 'otelTraceID', 'dd.trace_id'] as const
export const spanNames = ['span_id', 'spanId', 'SpanId', 'span.id', 'otelSpanID', 'dd.span_id'] as const
export const sessionNames = ['session_id', 'sessionId', 'session.id', 'rum.sessionId', 'faro.session.id'] as const
export const serviceNames = ['service', 'service.name', 'service_name', 'app', 'application'] as const

/** Keys that make an object a record even when it has an array called `logs` or `events`. */
const ownNames: ReadonlySet<string> = new Set([...messageNames, ...levelNames])
export const isOwnName = (key: string): boolean => ownNames.has(key)

/** The keys of the wrappers `{"logs":[…]}` and `{"events":[…]}`, the first that holds records counts. */
export const wrapperNames = ['logs', 'events'] as const
