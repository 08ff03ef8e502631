import { parentPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { foldPlaced, type FoldSaid, type PlacedTask } from './fold-task.ts'
import { giveWay } from './give-way.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

const port = present(parentPort, 'a fold runs in a thread')

const say = (said: FoldSaid): void => port.postMessage(said)

giveWay()

await foldPlaced(workerData as PlacedTask, say)
say('folded')
