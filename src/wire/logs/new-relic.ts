import { spanIdOf, traceIdOf } from './ids.ts'

// What New Relic's agents add to each line of text ("Logs in context: local decorating"): `NR-LINKING|guid|host|trace|span|service|`.

type Linking = Readonly<{
  ids: Readonly<{ traceId: string; spanId: string | undefined }> | undefined
  service: string | undefined
}>

const mark = 'NR-LINKING|'
/** How many characters after the mark are parsed. The service's name is percent-encoded; older agents leave it out. */
const markedCharacters = 1_024
const linking =
  /^NR-LINKING\|[^|\s]{0,256}\|[^|\s]{0,256}\|([\da-f]{32})?\|([\da-f]{16})?(?:\|([^|\s]{0,512}))?(?:\||$|\s)/i

/** What New Relic's agent added to a line of text; undefined if nothing. The last mark counts: an earlier one is part of the program's own text. */
export function newRelicIn(message: string): Linking | undefined {
  const at = message.lastIndexOf(mark)
  if (at === -1) return undefined
  const [whole, trace, span, service = ''] = linking.exec(message.slice(at, at + markedCharacters)) ?? []
  if (whole === undefined) return undefined
  const traceId = traceIdOf(trace)
  const ids = traceId === undefined ? undefined : { traceId, spanId: spanIdOf(span) }
  return { ids, service: decoded(service) || undefined }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text).trim()
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}
