import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { createScratchFolder } from '#projections/stores/sqlite/scratch-folder.ts'

// One of several that make and remove folders at the same time. How many somebody else has removed.

const holds = (file: string): boolean => {
  try {
    writeFileSync(file, 'mine')
    return readFileSync(file, 'utf8') === 'mine'
  } catch {
    return false
  }
}

let lost = 0
for (let round = 0; round < 150; round++) {
  const { folder, remove } = createScratchFolder(workerData as string)
  if (!holds(join(folder, 'build'))) lost++
  remove()
}
parentPort?.postMessage(lost)
