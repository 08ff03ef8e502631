import { closeSync, openSync } from 'node:fs'
import { isatty } from 'node:tty'
import { limits, type Config } from '#src/config.ts'
import { bindSocket } from '#src/http/listening-socket.ts'
import { makeDataFolder } from '#src/lib/make-folder.ts'
import { checkClockAtStart } from '#src/lib/possible-clock.ts'
import type { HeldFolder } from '#streams/sqlite/lock.ts'
import { checkPlaces } from '../folders.ts'
import { checkOpenFiles } from '../open-files.ts'
import { giveUpReserve, keepReserve, tellMissingRoom } from '../reserve.ts'
import type { WorkerEvent } from './crew.ts'
import { lockData } from './lock-data.ts'
import { arePackagesStale } from './packages.ts'
import { describeEnding, WorkerEnded } from './supervised-worker.ts'
import { createSupervisor } from './supervisor.ts'
import { startWorkerProcess } from './worker-process.ts'

function urlOf(host: string, port: number, isSecure: boolean): string {
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http${isSecure ? 's' : ''}://${name}:${port}`
}

/** The sockets that this process binds, for its workers to listen on. */
async function bindSockets({ role, host, port, operationsPort, tls, baseUrl }: Config) {
  const main = role === 'project' ? undefined : await bindSocket({ host, port })
  const ownUrl = urlOf(host, main?.port ?? 0, tls !== undefined)
  const operations = operationsPort === undefined ? undefined : await bindSocket({ host, port: operationsPort })
  return {
    place: {
      fd: main?.fd,
      operationsFd: operations?.fd,
      baseUrl: baseUrl ?? ownUrl,
    },
    ownUrl,
    operationsUrl: operations === undefined ? undefined : urlOf(host, operations.port, false),
    close: (): void => {
      main?.close()
      operations?.close()
    },
  }
}
type Sockets = Awaited<ReturnType<typeof bindSockets>>

/**
 * Printed when the first worker serves: read by the operator, and awaited by programs that start us. BASE_URL may be of another server:
 * a shell that has loaded `throughline env` has it.
 */
function describeStart({ role, dataFolder, cluster }: Config, { place, ownUrl, operationsUrl }: Sockets): string {
  const where = cluster === undefined ? `data in ${dataFolder}` : `role ${role}`
  const links = place.baseUrl === ownUrl ? '' : `; links lead to BASE_URL ${place.baseUrl}`
  const what =
    place.fd === undefined ? `Throughline folding (${where})` : `Throughline listening on ${ownUrl} (${where}${links})`
  return operationsUrl === undefined ? what : `Health and metrics on ${operationsUrl}\n${what}`
}

function describe(event: WorkerEvent, { workerSilenceMs }: Config): string {
  if (event.kind === 'ended') return `worker ${event.pid} has answered its last request and ended`
  if (event.kind === 'crashed') return `worker ${event.pid} ended unexpectedly (${describeEnding(event.ending)})`
  if (event.kind === 'hangs') {
    return `worker ${event.pid} has given no answer for ${workerSilenceMs / 1_000} s and is killed`
  }
  if (event.kind === 'serves') {
    if (event.instead === undefined) return `worker ${event.pid} serves`
    return `worker ${event.pid} has taken over from ${event.instead}`
  }
  if (event.serving === undefined) return `no new worker could be started: ${event.reason}; trying again`
  return `the replacement was given up: ${event.reason}; worker ${event.serving} goes on`
}

const hadTerminal = isatty(0)

/** Whether this process still has the terminal that it was started in. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** A hang-up is sent by an operator, or because the terminal was closed. */
const isTerminalClosed = (): boolean => hadTerminal && !hasTerminal()

/**
 * Until there is a worker to be replaced, an operator’s hang-up asks for nothing that a start does not do. The other signals end a start at once, wherever
 * it is: the mending of a log gives no way to who would hear them, and goes on at the next start.
 */
function overhearHangUp(): void {
  if (isTerminalClosed()) process.exit(1)
}

type Signals = Readonly<{ stop(signal: string): void; replace(): void }>

function takeSignals({ stop, replace }: Signals): void {
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
  process.off('SIGHUP', overhearHangUp)
  process.on('SIGHUP', () => {
    if (isTerminalClosed()) stop('SIGHUP')
    else replace()
  })
  // Started by another program (infra/cluster) that has ended: nobody else would stop us.
  process.on('disconnect', () => stop('disconnected'))
  process.channel?.unref()
  // The reader of stdout or stderr may be gone.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
}

/** A worker reports itself why it could not start; what it could not report is reported here. */
function exitCodeOfStart(error: unknown): number {
  if (!(error instanceof WorkerEnded)) throw error
  if (error.ending.code === null) console.error(`throughline: ${error.message}`)
  return error.ending.code ?? 1
}

function after(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}

const tellBad = (line: string): void => console.error(line)

/**
 * Mends the data folder, tells what was set aside or is missing, and returns a function that mends it again. All that this takes is loaded now,
 * since later the files of the program may be of another version; a cluster loads none of it.
 */
async function mend(dataFolder: string): Promise<() => Promise<void>> {
  const { mendDataFolder } = await import('../mend.ts')
  const { tellQuarantines } = await import('../quarantines.ts')
  const { tellMissedDays } = await import('../missed-days.ts')
  const { tellMoved } = await import('../tell-moved.ts')
  await mendDataFolder(dataFolder)
  tellQuarantines(dataFolder)
  tellMissedDays(dataFolder)
  tellMoved(dataFolder)
  return async () => {
    if (await mendDataFolder(dataFolder)) tellQuarantines(dataFolder)
  }
}

async function serve(config: Config, argv: readonly string[], lock: Pick<HeldFolder, 'check'>): Promise<number> {
  const mendAgain = config.cluster === undefined ? await mend(config.dataFolder) : undefined
  const sockets = await bindSockets(config)
  let isUp = false
  const supervisor = createSupervisor({
    prepare: async () => {
      lock.check()
      await mendAgain?.()
    },
    startWorker: () => {
      // Without its folder, a worker would begin a new installation that knows no sender. Checked also when a worker is started beside another.
      lock.check()
      return startWorkerProcess({ argv, place: sockets.place })
    },
    report: (event) => {
      const isBad = event.kind === 'crashed' || event.kind === 'hangs' || event.kind === 'failed'
      console[isBad ? 'error' : 'log'](describe(event, config))
      if (isUp || event.kind !== 'serves') return
      isUp = true
      console.log(describeStart(config, sockets))
    },
    silenceMs: config.workerSilenceMs,
    stopPatienceMs: config.stopPatienceMs,
    after,
  })
  let isStopping = false
  takeSignals({
    replace: () => {
      if (!arePackagesStale()) return supervisor.replace()
      console.error(
        'the worker is not replaced: package-lock.json names other packages than those installed; stop the server and start it again with npm start, which installs them',
      )
    },
    stop: (signal) => {
      // Ctrl-C arrives twice: the terminal signals the whole process group, and the launcher passes it on.
      if (isStopping) return
      isStopping = true
      console.log(`${signal}: answering what is under way, then stopping`)
      sockets.close()
      supervisor.stop()
    },
  })
  try {
    return (await supervisor.run()) ? 0 : 1
  } catch (error) {
    return exitCodeOfStart(error)
  } finally {
    sockets.close()
  }
}

/**
 * A server in any role: this process holds the listening sockets and, embedded, the data folder's lock and what it reserves, and nothing
 * else; a worker process does the work. SIGHUP replaces the worker, SIGTERM and SIGINT stop the server. `argv`: of the command line; the
 * worker reads the same. Resolves with the exit code.
 */
export async function composeParent(config: Config, argv: readonly string[]): Promise<number> {
  process.on('SIGHUP', overhearHangUp)
  checkOpenFiles(limits.openFilesMin)
  checkClockAtStart(limits.clockMinMs, Date.now())
  if (config.cluster !== undefined) return serve(config, argv, { check: () => undefined })
  return serveLocked(config, argv)
}

async function serveLocked(config: Config, argv: readonly string[]): Promise<number> {
  const { dataFolder } = config
  checkPlaces(dataFolder, 'start')
  makeDataFolder(dataFolder)
  const lock = await lockData(dataFolder, limits, tellBad)
  let stopKeeping: (() => void) | undefined
  let code: number | undefined
  try {
    await giveUpReserve(dataFolder, limits, tellBad)
    stopKeeping = await keepReserve(dataFolder, limits, tellBad)
    code = await serve(config, argv, lock)
    return code
  } finally {
    stopKeeping?.()
    if (code !== 0) tellMissingRoom(dataFolder, limits, tellBad)
    // Also if the start failed: the process id of a process that has ended means nothing, and is another process's one day.
    lock.release()
  }
}
