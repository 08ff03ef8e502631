import { randomInt } from 'node:crypto'
import { platform, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { verifySample } from '#projections/sample.ts'
import { openBuilds } from './compose-builds.ts'
import type { Sampled, SamplerData } from './compose-sampler.ts'
import { present } from './lib/assert.ts'

// One sample of an index compared with the log, in a thread of the lowest priority. It says what it found, and ends.

const { dataFolder, eventsPerSecondMax } = workerData as SamplerData
const port = present(parentPort, 'a sample is taken in a thread')
if (platform() === 'linux') setPriority(19)

const partitions = await openBuilds(dataFolder)
try {
  for (const context of partitions) {
    const verdict = await verifySample(context, (below) => (below <= 1 ? 0 : randomInt(below)), eventsPerSecondMax)
    if (verdict === undefined) continue
    const { projection, index, workspaces } = verdict
    for (const { workspaceId, entries, different } of workspaces) {
      port.postMessage({ projection, index, workspaceId, entries, different } satisfies Sampled)
    }
  }
} finally {
  await Promise.all(partitions.map((context) => context.close()))
}
