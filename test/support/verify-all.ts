import type { JsonObject } from '#src/lib/json.ts'
import { listOf } from './client.ts'
import { runProgram } from './run-program.ts'

/** The verdicts of `throughline verify all` on a data folder; rejects where the command fails. */
export async function verifyAll(dataFolder: string): Promise<readonly JsonObject[]> {
  const argv = ['src/main.ts', 'verify', 'all', '--json', '--data', dataFolder]
  // The last line is the answer; those before it tell of progress.
  const answer = JSON.parse((await runProgram(process.execPath, argv)).at(-1) ?? '') as JsonObject
  return listOf(answer, 'verdicts')
}
