import { Worker } from 'node:worker_threads'
import type { BuildPlace } from '#projections/builds/build-place.ts'
import { createRemote } from '#src/lib/remote.ts'
import type { FilesPlace } from '../files-audit.ts'

export type DigestThread = Required<Pick<BuildPlace, 'digests'>>

/** Digests of a place, made by one thread, which starts with the first request. Call `end` before the place is removed. */
export function createDigestThread(place: FilesPlace): DigestThread & Readonly<{ end(): Promise<void> }> {
  let worker: Worker | undefined
  let remote: DigestThread | undefined
  const start = (): DigestThread => {
    worker = new Worker(new URL('digest-thread.ts', import.meta.url), { workerData: place, name: 'digests' })
    return createRemote<DigestThread>(worker, 'the digest thread', () => [], 'at once')
  }
  return {
    digests: (index, part) => (remote ??= start()).digests(index, part),
    end: async () => void (await worker?.terminate()),
  }
}
