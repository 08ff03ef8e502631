import { ConfigError, readConfig } from './config.ts'
import { PermanentError } from './lib/failure.ts'

/** A failure that the operator can act on is told in its own words; anything else with its stack. */
function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof PermanentError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

async function serve(flags: readonly string[]): Promise<void> {
  const { composeServer } = await import('./compose.ts')
  const server = await composeServer(readConfig(process.env, flags))
  let stopping = false
  const stop = (signal: string): void => {
    if (stopping) return
    stopping = true
    console.log(`${signal}: answering what is under way, then stopping`)
    server.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(explain(error))
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop(signal))
}

/** `--port 1` and nothing: the server. A verb: the command line. */
async function main(argv: readonly string[]): Promise<void> {
  const [verb] = argv
  if (verb === undefined || (verb.startsWith('--') && verb !== '--help')) return serve(argv)
  const { composeCli } = await import('./compose-cli.ts')
  process.exitCode = await composeCli(argv)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  console.error(`throughline: ${explain(error)}`)
  process.exit(error instanceof ConfigError ? 2 : 1)
}
