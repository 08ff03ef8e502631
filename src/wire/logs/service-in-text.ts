// OpenTelemetry for Python names the service in each line of text it correlates, between the ids and whether the trace is sampled
// (opentelemetry-instrumentation-logging, DEFAULT_LOGGING_FORMAT).

const name = 'resource.service.name='
/** The name may have spaces. */
const named = /(?<=[\s[])resource\.service\.name=([^\]\n]{1,128}?) trace_sampled=/

/** Characters from the beginning of a message that are looked through. */
const headCharacters = 512

/** The service that a line of text says of itself; undefined where it says none. */
export function serviceInText(message: string): string | undefined {
  const head = message.slice(0, headCharacters)
  const text = head.includes(name) ? named.exec(head)?.[1]?.trim() : undefined
  return text === '' ? undefined : text
}
