import { runCommand, which } from './command.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** How each system's package manager installs Chromium, where we may. */
const managers: readonly Readonly<{ command: string; steps: readonly (readonly string[])[] }>[] = [
  {
    command: 'apt-get',
    steps: [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', 'chromium'],
    ],
  },
  { command: 'dnf', steps: [['install', '-y', 'chromium']] },
  { command: 'apk', steps: [['add', 'chromium']] },
]

/** The Chromium that browser tests drive: `CHROMIUM`, the system's, or one that the system's package manager brings. */
export function bringChromium(): string {
  const given = process.env['CHROMIUM'] ?? which(...names)
  if (given !== undefined) return given
  const manager = managers.find(({ command }) => which(command) !== undefined)
  if (manager !== undefined && process.getuid?.() === 0) {
    console.error(`Installing Chromium with ${manager.command} (once) …`)
    for (const step of manager.steps) runCommand(manager.command, step)
  }
  const found = which(...names)
  if (found === undefined) {
    console.error('npm test needs Chromium: install the package "chromium", or name its program in CHROMIUM.')
    process.exit(1)
  }
  return found
}
