import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The file that a command's name stands for on PATH; undefined when there is none. */
export function which(...names: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  for (const name of names) {
    for (const folder of folders) if (existsSync(join(folder, name))) return join(folder, name)
  }
  return undefined
}

/** Runs a command with our output; its exit code. */
export function runCommand(command: string, args: readonly string[]): number {
  return spawnSync(command, [...args], { stdio: ['ignore', 'inherit', 'inherit'] }).status ?? 1
}
