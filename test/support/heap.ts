import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** How many bytes of the heap a task leaves in use, what it has thrown away left out. */
export function heapGrowth(task: () => void): number {
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  task()
  collectGarbage()
  return process.memoryUsage().heapUsed - before
}
