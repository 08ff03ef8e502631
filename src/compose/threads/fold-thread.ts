import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { present } from '#src/lib/assert.ts'
import { foldPlaced, type FoldSaid, type PlacedTask } from './fold-task.ts'
import { giveWay, niceness } from './give-way.ts'

// One worker of a rebuild, or of a fold that an index is compared with. It reports each position it reaches, and ends.

const port = present(parentPort, 'a fold runs in a thread')

const say = (said: FoldSaid): void => port.postMessage(said)

giveWay()

await foldPlaced(workerData as PlacedTask, (position) => {
  say(position)
  // The only message is that it is ahead (race.ts). It has to be looked for here: a fold of files never waits, so no event would arrive.
  if (receiveMessageOnPort(port) !== undefined) giveWay(niceness.ahead)
})
say('folded')
