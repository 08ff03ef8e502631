import { runCli } from '#src/cli/run-cli.ts'
import { createServices } from './harness.ts'

// The command line as a process of its own.
process.exitCode = await runCli(process.argv.slice(2), process, createServices())
