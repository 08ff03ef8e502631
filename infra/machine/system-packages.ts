import { runCommand, which } from './command.ts'

type Manager = Readonly<{ command: string; before: readonly (readonly string[])[]; install: readonly string[] }>
/** What to install, by the manager's command. */
type Packages = Readonly<Record<string, readonly string[]>>

const managers: readonly Manager[] = [
  {
    command: 'apt-get',
    before: [['update', '-qq']],
    install: ['install', '-y', '-qq', '--no-install-recommends'],
  },
  { command: 'dnf', before: [], install: ['install', '-y'] },
  { command: 'apk', before: [], install: ['add'] },
]

/** Installs packages by the system's manager, where there is a known one that has them and we may. */
function install(what: string, packages: Packages): void {
  const manager = managers.find(({ command }) => which(command) !== undefined)
  const names = packages[manager?.command ?? '']
  if (manager === undefined || names === undefined || process.getuid?.() !== 0) return
  console.error(`Installing ${what} with ${manager.command} (once) …`)
  for (const step of manager.before) runCommand(manager.command, step)
  runCommand(manager.command, [...manager.install, ...names])
}

/** What this machine has, or has once packages are installed; undefined where it may not, or cannot, have them. */
export function findOrTryInstall<Found>(
  what: string,
  find: () => Found | undefined,
  packages: Packages,
): Found | undefined {
  const given = find()
  if (given !== undefined) return given
  install(what, packages)
  return find()
}

/** The same of what is needed; fails with the line that says what a person can do. */
export function findOrInstall<Found>(
  what: string,
  find: () => Found | undefined,
  packages: Packages,
  advice: string,
): Found {
  const found = findOrTryInstall(what, find, packages)
  if (found === undefined) throw new Error(advice)
  return found
}
