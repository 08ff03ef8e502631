import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Place } from '#src/compose.ts'
import type { FromWorker, ToWorker } from './messages.ts'
import { WorkerEnded, type Ending, type SupervisedWorker } from './supervised-worker.ts'

type WorkerProcessOptions = Readonly<{
  /** The arguments of the command line: the worker reads the same as its parent. */
  argv: readonly string[]
  /** The bound sockets of the parent, by the parent's descriptors. */
  place: Place
}>

/** The descriptors of these sockets in the worker: after its three standard streams and the channel to the parent. */
const workerFd = 4
const workerOperationsFd = 5

const placeInWorker = ({ fd, operationsFd, baseUrl }: Place): Place => ({
  fd: fd === undefined ? undefined : workerFd,
  operationsFd: operationsFd === undefined ? undefined : workerOperationsFd,
  baseUrl,
})

function spawnWorker({ argv, place }: WorkerProcessOptions): ChildProcess {
  return fork(fileURLToPath(new URL('worker.ts', import.meta.url)), argv, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', place.fd ?? 'ignore', place.operationsFd ?? 'ignore'],
  })
}

function endingOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
    child.on('error', (error) => {
      // Without a process there will be no exit.
      if (child.pid === undefined) resolve({ code: null, signal: null, error })
    })
  })
}

type Said = FromWorker['kind']

/** Starts a worker process. Orders to one that has ended go nowhere. */
export function startWorkerProcess(options: WorkerProcessOptions): SupervisedWorker {
  const child = spawnWorker(options)
  const ended = endingOf(child)
  const waiting = new Map<Said, (message: FromWorker) => void>()
  let turns = 0
  let answers: number | undefined

  const tell = (message: ToWorker): void => {
    // The answer to what does not arrive is the worker's end.
    if (child.connected) child.send(message, () => undefined)
  }
  const hears = (kind: Said): Promise<FromWorker> => {
    const message = new Promise<FromWorker>((resolve) => waiting.set(kind, resolve))
    const failed = ended.then((ending): never => {
      throw new WorkerEnded(ending)
    })
    return Promise.race([message, failed])
  }
  child.on('message', (message: FromWorker) => {
    if (message.kind === 'here') answers = (answers ?? 0) + 1
    if (message.kind === 'ready' && message.answers === true) answers = 0
    // This answers an earlier order to let go, which was given up meanwhile.
    if (message.kind === 'letGo' && message.turn !== turns) return
    waiting.get(message.kind)?.(message)
    waiting.delete(message.kind)
  })
  const ready = hears('ready').then(() => undefined)
  ready.catch(() => undefined)
  return {
    pid: child.pid ?? 0,
    ready,
    ended,
    takeOver: async () => {
      const done = hears('tookOver')
      tell({ kind: 'takeOver', place: placeInWorker(options.place) })
      await done
    },
    letGo: async () => {
      const done = hears('letGo')
      tell({ kind: 'letGo', turn: ++turns })
      await done.catch(() => undefined)
    },
    resume: () => tell({ kind: 'resume' }),
    resign: () => tell({ kind: 'resign' }),
    stop: (patienceMs) => tell({ kind: 'stop', patienceMs }),
    ask: () => tell({ kind: 'ask' }),
    answers: () => answers,
    kill: () => void child.kill('SIGKILL'),
  }
}
