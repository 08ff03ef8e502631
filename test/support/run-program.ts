import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'

/** What a program reads on its standard input, and variables beside our own. */
type ProgramOptions = Readonly<{ input?: string; environment?: Readonly<Record<string, string>> }>

/** Runs a program of test/e2e/programs (or any command) to its end; its output's lines. Fails unless it ends well. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { input, environment }: ProgramOptions = {},
): Promise<string[]> {
  const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, ...environment } })
  const lines: string[] = []
  const complaints: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  createInterface({ input: child.stderr }).on('line', (line) => complaints.push(line))
  child.stdin.end(input)
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code, `${command} ${args.join(' ')}\n${complaints.join('\n')}`).to.equal(0)
  return lines
}

export const runNode = (file: string, ...args: readonly string[]): Promise<string[]> =>
  runProgram(process.execPath, [`test/e2e/programs/${file}`, ...args])

export type Ran = Readonly<{ code: number | null; out: string; err: string }>

/** Runs our command line to its end, however it ends. This process goes on meanwhile: its connections live. */
export async function runVerb(argv: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ran> {
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, out, err }
}

/** What a rebuild says whose lease has run out, because the machine stood still. */
export const saysToRunAgain = /run this again/

/** Runs a verb as `runVerb` does, and again as long as it says that it should be. */
export async function runVerbAgain(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  for (;;) {
    const ran = await runVerb(argv, env)
    if (!saysToRunAgain.test(ran.err)) return ran
  }
}
