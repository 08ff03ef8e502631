import { join } from 'node:path'
import { runCommand } from '../machine/command.ts'

// `npm run check`: types, lint, format, and who may import whom. All are run, so that one run tells everything.
const bin = (name: string): string => join('node_modules', '.bin', name)
const checks: readonly (readonly [string, ...string[]])[] = [
  [bin('tsc'), '-p', '.'],
  [bin('oxlint'), '--type-aware', '--deny-warnings'],
  [bin('oxfmt'), '--check', 'src', 'streams', 'projections', 'infra', 'test'],
  [bin('mocha'), 'test/architecture.test.ts'],
]

const failed = checks.filter(([command, ...args]) => runCommand(command, args) !== 0).map(([command]) => command)
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)
