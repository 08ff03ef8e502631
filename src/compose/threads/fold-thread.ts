import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { foldPlaced, type FoldSaid, type PlacedTask } from './fold-task.ts'
import { giveWay, niceness } from './give-way.ts'

// One worker of a rebuild, or of a fold that is compared with. It says how far it is, position by position, and ends.

const port = present(parentPort, 'a fold runs in a thread')

const say = (said: FoldSaid): void => port.postMessage(said)

giveWay()

await foldPlaced(workerData as PlacedTask, (position) => {
  say(position)
  // It is told nothing but that it is ahead (race.ts). Looked for here, since a fold of files waits for nothing, and so would not hear it.
  if (receiveMessageOnPort(port) !== undefined) giveWay(niceness.ahead)
})
say('folded')
