import { workerData } from 'node:worker_threads'
import { openForWriting } from '#streams/sqlite/open-log.ts'

// Opens logs for writing, each at the same moment as other threads do: when all of them have come to it.
const { files, threads, arrived } = workerData as Readonly<{
  files: readonly string[]
  threads: number
  arrived: Int32Array
}>
for (const [at, file] of files.entries()) {
  if (Atomics.add(arrived, at, 1) + 1 === threads) Atomics.notify(arrived, at)
  for (let now = Atomics.load(arrived, at); now < threads; now = Atomics.load(arrived, at))
    Atomics.wait(arrived, at, now)
  openForWriting({ file, partition: '0' }, 20_000).database.close()
}
