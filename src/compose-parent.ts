import { closeSync, mkdirSync, openSync } from 'node:fs'
import { lockFolder } from '#streams/sqlite/lock.ts'
import { createSupervisor, describeEnding, WorkerEnded, type SupervisorEvent } from './compose-supervisor.ts'
import { startWorkerProcess } from './compose-worker-process.ts'
import type { Config } from './config.ts'
import { bindSocket } from './http/listening-socket.ts'

function urlOf({ host, tls, baseUrl }: Config, port: number): string {
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return baseUrl ?? `http${tls === undefined ? '' : 's'}://${name}:${port}`
}

function describe(event: SupervisorEvent): string {
  if (event.kind === 'ended') return `worker ${event.pid} has answered its last request and ended`
  if (event.kind === 'crashed') return `worker ${event.pid} ended unexpectedly (${describeEnding(event.ending)})`
  if (event.kind === 'serves') {
    if (event.instead === undefined) return `worker ${event.pid} serves`
    return `worker ${event.pid} has taken over from ${event.instead}`
  }
  if (event.serving === undefined) return `no new worker could be started: ${event.reason}; trying again`
  return `the replacement was given up: ${event.reason}; worker ${event.serving} goes on`
}

/** Whether this process still has the terminal that it was started in. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

type Signals = Readonly<{ stop(signal: string): void; replace(): void }>

function takeSignals({ stop, replace }: Signals): void {
  const hadTerminal = process.stdin.isTTY
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
  process.on('SIGHUP', () => {
    // Sent by an operator, or because the terminal has gone.
    if (hadTerminal && !hasTerminal()) stop('SIGHUP')
    else replace()
  })
  // Whoever read what it prints may be gone.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
}

/** The worker has said on its own why it could not start; what it could not say is said here. */
function exitCodeOfStart(error: unknown): number {
  if (!(error instanceof WorkerEnded)) throw error
  if (error.ending.code === null) console.error(`throughline: ${error.message}`)
  return error.ending.code ?? 1
}

function after(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}

/**
 * The embedded server: this process holds the data folder's lock and the listening socket, and nothing else; a worker process does
 * the work. SIGHUP replaces the worker, SIGTERM and SIGINT stop the server. Resolves with the exit code.
 */
export async function composeParent(config: Config, flags: readonly string[]): Promise<number> {
  const { dataFolder } = config
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const lock = lockFolder(dataFolder)
  const socket = await bindSocket(config)
  const baseUrl = urlOf(config, socket.port)
  let isUp = false
  const supervisor = createSupervisor({
    startWorker: (id, events) => startWorkerProcess(id, { flags, place: { fd: socket.fd, baseUrl } }, events),
    report: (event) => {
      if (event.kind === 'crashed' || event.kind === 'failed') console.error(describe(event))
      else console.log(describe(event))
      if (isUp || event.kind !== 'serves') return
      isUp = true
      console.log(`Throughline listening on ${baseUrl} (data in ${dataFolder})`)
    },
    after,
  })
  let isStopping = false
  takeSignals({
    replace: () => supervisor.replace(),
    stop: (signal) => {
      // Ctrl-C comes twice: to the whole group, and passed on by the launcher.
      if (isStopping) return
      isStopping = true
      console.log(`${signal}: answering what is under way, then stopping`)
      socket.close()
      supervisor.stop()
    },
  })
  try {
    return (await supervisor.run()) ? 0 : 1
  } catch (error) {
    return exitCodeOfStart(error)
  } finally {
    socket.close()
    lock.release()
  }
}
