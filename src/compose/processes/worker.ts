import { composeServer, type WorkerServer } from '#src/compose.ts'
import { readConfig } from '#src/config.ts'
import { exitCodeOf, explain } from '../failure.ts'
import type { FromWorker, ToWorker } from './messages.ts'

// A worker process of a server: its parent (parent.ts) tells it what to do, and it ends with it.

function end(error: unknown): never {
  console.error(`throughline: ${explain(error)}`)
  process.exit(exitCodeOf(error))
}

const send = (message: FromWorker): void => {
  // Without its parent it is about to end.
  if (process.connected) process.send?.(message)
}

let server: WorkerServer | undefined

async function serve(server: WorkerServer, message: ToWorker): Promise<void> {
  switch (message.kind) {
    case 'takeOver':
      await server.takeOver(message.place)
      return send({ kind: 'tookOver' })
    case 'letGo':
      await server.letGo()
      return send({ kind: 'letGo', turn: message.turn })
    case 'ask':
      return send({ kind: 'here' })
    case 'resume':
      return server.resume()
    case 'resign':
      await server.resign()
      return process.exit(0)
    case 'stop':
      await server.stop(message.patienceMs)
      return process.exit(0)
  }
}

// Signals to the whole process group (Ctrl-C) are for the parent, which then says what is to be done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
// Whoever read the output may be gone.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
// Ends like a killed process: what was acknowledged is durable, and a new parent must not find a worker of the old one.
process.on('disconnect', () => process.exit(1))
process.on('message', (message: ToWorker) => {
  // Told to stop before it was ready: it has done nothing yet.
  if (server === undefined) process.exit(0)
  serve(server, message).catch(end)
})

try {
  server = await composeServer(readConfig(process.env, process.argv.slice(2)))
} catch (error) {
  end(error)
}
send({ kind: 'ready', answers: true })
