import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/builds/build-place.ts'
import type { ScratchPlace } from '#src/compose/scratch-audit.ts'
import { createRemote } from '#src/lib/remote.ts'

export type PartDigests = Readonly<{ digests: NonNullable<BuildPlace['digests']> }>

/** Digests of a place by one thread, which begins when the first are asked for. `end` before the place is removed. */
export function createDigestThread(place: ScratchPlace): PartDigests & Readonly<{ end(): Promise<void> }> {
  let worker: Worker | undefined
  let remote: PartDigests | undefined
  const start = (): PartDigests => {
    worker = new Worker(new URL('digest-thread.ts', import.meta.url), { workerData: place, name: 'digests' })
    return createRemote<PartDigests>(worker, 'the digest thread', () => [], 'at once')
  }
  return {
    digests: (index, part) => (remote ??= start()).digests(index, part),
    end: async () => void (await worker?.terminate()),
  }
}
