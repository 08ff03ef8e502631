import { newRelicIn } from './new-relic.ts'

// OpenTelemetry for Python writes the service into each correlated line, between the ids and the sampling flag
// (opentelemetry-instrumentation-logging, DEFAULT_LOGGING_FORMAT).

const name = 'resource.service.name='
/** The name may have spaces. */
const named = /(?<=[\s[])resource\.service\.name=([^\]\n]{1,128}?) trace_sampled=/

/** Datadog's tracers write it before or after the trace id, bare or in quotes: `dd.service=shop dd.env=prod … dd.trace_id=…`. */
const ofDatadog = /(?<![\w.])dd\.service=(?:"([^"\n]{1,128})"|'([^'\n]{1,128})'|([^\s"'\]},;]{1,128})(?=[\s\]},;]|$))/

/** How many characters at the beginning of a message are searched. */
const headCharacters = 512
const messageCharacters = 2_048

/** The service that a line of text gives for itself; undefined if it gives none. */
export function serviceInText(message: string): string | undefined {
  const head = message.slice(0, headCharacters)
  const text = head.includes(name) ? named.exec(head)?.[1]?.trim() : undefined
  if (text !== undefined && text !== '') return text
  return serviceOfDatadog(message) ?? newRelicIn(message)?.service
}

/** Searched behind a long message too: dd-trace-go's handlers, and many logback patterns, put it at the end. */
function serviceOfDatadog(message: string): string | undefined {
  const at = message.indexOf('dd.service=')
  if (at === -1 || at > messageCharacters || !message.slice(0, messageCharacters).includes('dd.trace_id='))
    return undefined
  const [, quoted, inQuotes, bare] = ofDatadog.exec(message.slice(Math.max(at - 1, 0), at + 256)) ?? []
  return (quoted ?? inQuotes ?? bare)?.trim() || undefined
}
