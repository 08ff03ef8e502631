import { parentPort, workerData } from 'node:worker_threads'
import type { Part } from '#projections/index-audit.ts'
import type { IndexName } from '#projections/index-store.ts'
import { createScratchAudit, type ScratchPlace } from '#src/compose/scratch-audit.ts'
import { present } from '#src/lib/assert.ts'
import { serveRemote } from '#src/lib/remote.ts'
import type { PartDigests } from './digests.ts'
import { giveWay } from './folding.ts'

// Reads what an index is compared with, while the thread that asks reads the index.

giveWay()
const audit = createScratchAudit(workerData as ScratchPlace)
serveRemote(present(parentPort, 'digests are made in a thread'), {
  async digests(index: IndexName, part: Part) {
    const frozen = await audit.freeze(index, part)
    try {
      return await frozen.digests()
    } finally {
      await frozen.release()
    }
  },
} satisfies PartDigests)
