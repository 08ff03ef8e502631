import { newRelicIn } from './new-relic.ts'

// OpenTelemetry for Python names the service in each line of text it correlates, between the ids and whether the trace is sampled
// (opentelemetry-instrumentation-logging, DEFAULT_LOGGING_FORMAT).

const name = 'resource.service.name='
/** The name may have spaces. */
const named = /(?<=[\s[])resource\.service\.name=([^\]\n]{1,128}?) trace_sampled=/

/** Datadog's tracers inject it before the id of the trace, or behind, bare or in quotes: `dd.service=shop dd.env=prod … dd.trace_id=…`. */
const ofDatadog = /(?<![\w.])dd\.service=(?:"([^"\n]{1,128})"|'([^'\n]{1,128})'|([^\s"'\]},;]{1,128})(?=[\s\]},;]|$))/

/** Characters from the beginning of a message that are looked through. */
const headCharacters = 512
const messageCharacters = 2_048

/** The service that a line of text says of itself; undefined where it says none. */
export function serviceInText(message: string): string | undefined {
  const head = message.slice(0, headCharacters)
  const text = head.includes(name) ? named.exec(head)?.[1]?.trim() : undefined
  if (text !== undefined && text !== '') return text
  return serviceOfDatadog(message) ?? newRelicIn(message)?.service
}

/** Behind a long message too, as dd-trace-go's handlers and many a pattern of logback have it. */
function serviceOfDatadog(message: string): string | undefined {
  const at = message.indexOf('dd.service=')
  if (at === -1 || at > messageCharacters || !message.slice(0, messageCharacters).includes('dd.trace_id='))
    return undefined
  const [, quoted, inQuotes, bare] = ofDatadog.exec(message.slice(Math.max(at - 1, 0), at + 256)) ?? []
  return (quoted ?? inQuotes ?? bare)?.trim() || undefined
}
