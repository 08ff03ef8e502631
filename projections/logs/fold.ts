import { identityOf, recordId, type Projection } from '../projection.ts'
import { logCollection, logDocument } from './log-document.ts'

/** Log records of servers, and the logs and exceptions of browsers, one stored record each. */
export const logsProjection: Projection = {
  name: 'logs',
  version: 25,
  handles: ['logs.received', 'rum.received'],
  collections: { logs: logCollection },
  needs: () => [],
  fold(event, documents) {
    const identity = identityOf(event)
    for (const record of event.logs()) {
      const key = { collection: logCollection, id: recordId(record.timeNs, identity, record.ordinal) }
      documents.put(key, logDocument(record))
    }
  },
}
