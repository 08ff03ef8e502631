import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { foldPlaced, type PlacedTask } from './fold-task.ts'
import { giveWay } from './folding.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

const port = present(parentPort, 'a fold runs in a thread')

giveWay()

await foldPlaced(workerData as PlacedTask, (position) => port.postMessage(position))
