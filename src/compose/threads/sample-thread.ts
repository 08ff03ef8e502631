import { randomInt } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { verifySample } from '#projections/builds/sample.ts'
import type { OpenBuilds } from '#src/cli/services.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import { makeOwnFolder } from '#src/lib/make-folder.ts'
import type { Sampled } from '#src/operations/index-samples.ts'
import { giveWay, niceness } from './give-way.ts'
import type { SamplePlace } from './sampler.ts'

// One sample of an index compared with the log, in a thread of the lowest priority. It says what it found, and ends.

const place = workerData as SamplePlace
const port = present(parentPort, 'a sample is taken in a thread')
giveWay(niceness.checking)

/** Only the drivers of one form are loaded. */
async function open({ cluster, partition, dataFolder }: SamplePlace): Promise<OpenBuilds> {
  if (cluster === undefined) return (await import('../builds.ts')).openBuilds(dataFolder)
  makeOwnFolder(dataFolder)
  return (await import('../cluster-builds.ts')).openPartitionBuilds({ cluster, partition }, dataFolder)
}

const context = await open(place)
try {
  const pick = (below: number): number => (below <= 1 ? 0 : randomInt(below))
  const verdict = await verifySample(context, pick, limits.sampledEventsPerSecondMax)
  for (const { workspaceId, entries, different } of verdict?.workspaces ?? []) {
    const { projection, index } = present(verdict, 'it has workspaces')
    const { partition } = place
    port.postMessage({ projection, index, partition, workspaceId, entries, different } satisfies Sampled)
  }
} finally {
  await context.close()
}
