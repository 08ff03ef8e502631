import { asksForJson, complain } from './cli/complaint.ts'
import { exitCodeOf, explain } from './compose/failure.ts'
import { isRole, readConfig } from './config.ts'

/** A role, `--port 1` or nothing: the server. A verb: the command line. The exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const [verb] = argv
  if (verb === undefined || isRole(verb) || (verb.startsWith('--') && !['--help', '--version'].includes(verb))) {
    if (argv.some((word) => word === '--help' || word === '-h'))
      return (await import('./compose/cli.ts')).composeCli(['help'])
    const { composeParent } = await import('./compose/processes/parent.ts')
    return composeParent(readConfig(process.env, argv), argv)
  }
  const { composeCli } = await import('./compose/cli.ts')
  return composeCli(argv)
}

// Files hold what senders sent, and hashes of passwords: they are for this user alone, even in a data folder that others may look into.
process.umask(0o077)
try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(complain({ code: 'failed', detail: explain(error) }, asksForJson(process.argv.slice(2))))
  process.exit(exitCodeOf(error))
}
