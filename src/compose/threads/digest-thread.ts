import { parentPort, workerData } from 'node:worker_threads'
import type { Part } from '#projections/index-audit.ts'
import type { IndexName } from '#projections/index-store.ts'
import { present } from '#src/lib/assert.ts'
import { serveRemote } from '#src/lib/remote.ts'
import { createFilesAudit, type FilesPlace } from '../files-audit.ts'
import type { DigestThread } from './digests.ts'
import { giveWay, niceness } from './give-way.ts'

// Makes digests of parts of an index, or of what it is compared with, while the asking thread does something else.

// If the folds take all processors, it is the folds that are waited for.
giveWay(niceness.checking)
const audit = createFilesAudit(workerData as FilesPlace)
serveRemote(present(parentPort, 'digests are made in a thread'), {
  async digests(index: IndexName, part: Part) {
    const frozen = await audit.freeze(index, part)
    try {
      return { position: frozen.position, digests: await frozen.digests() }
    } finally {
      await frozen.release()
    }
  },
} satisfies DigestThread)
