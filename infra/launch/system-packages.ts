import { runCommand, which } from './command.ts'

type Manager = Readonly<{ command: string; before: readonly (readonly string[])[]; install: readonly string[] }>

const managers: readonly Manager[] = [
  {
    command: 'apt-get',
    before: [['update', '-qq']],
    install: ['install', '-y', '-qq', '--no-install-recommends'],
  },
  { command: 'dnf', before: [], install: ['install', '-y'] },
  { command: 'apk', before: [], install: ['add'] },
]

/** Installs packages by the system's package manager, where there is a known one and we may; whether they came is for the caller to see. */
export function installPackages(what: string, names: Readonly<Record<string, readonly string[]>>): void {
  const manager = managers.find(({ command }) => which(command) !== undefined)
  if (manager === undefined || process.getuid?.() !== 0) return
  console.error(`Installing ${what} with ${manager.command} (once) …`)
  for (const step of manager.before) runCommand(manager.command, step)
  runCommand(manager.command, [...manager.install, ...(names[manager.command] ?? [])])
}
