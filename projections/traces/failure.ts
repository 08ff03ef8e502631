type SpanEvent = Readonly<{ name: string; attributes: Readonly<Record<string, unknown>> }>

/** OpenTelemetry's exception event (semantic conventions). In some languages exceptions have no message. */
const exception = 'exception'
const saidBy = ['exception.message', 'exception.type'] as const

/** Why a span failed, in its own words: the message of its status, or else of its last exception. */
export function failureOf(statusMessage: string, events: readonly SpanEvent[]): string | undefined {
  if (statusMessage !== '') return statusMessage
  const last = events.findLast(({ name }) => name === exception)
  return saidBy
    .map((name) => last?.attributes[name])
    .find((value): value is string => typeof value === 'string' && value.trim() !== '')
}
