import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bringOnce } from './cache.ts'
import { runCommand, which } from './command.ts'
import { findOrInstall } from './system-packages.ts'

const requirements = join(import.meta.dirname, '..', '..', 'test', 'e2e', 'programs', 'requirements.txt')
const names = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python']

/** Ends well where the senders' packages run (3.10 or later) and an environment can be made; prints what tells one Python from another. */
const probe =
  'import sys, platform, venv, ensurepip; print(sys.version, sys.base_prefix, platform.machine()); sys.exit(sys.version_info < (3, 10))'

type Python = Readonly<{ program: string; version: string }>

/** The Python of this machine that can make an environment: `PYTHON`, or the system's. */
function findPython(): Python | undefined {
  const given = process.env['PYTHON']
  for (const name of given === undefined ? names : [given]) {
    const program = name === given ? given : which(name)
    if (program === undefined) continue
    const { status, stdout } = spawnSync(program, ['-c', probe], { encoding: 'utf8' })
    if (status === 0) return { program, version: stdout }
  }
  return undefined
}

/** Makes an environment with exactly the packages that the senders need. */
function makeEnvironment(python: string, folder: string): void {
  console.error('Installing the Python senders that tests run (once) …')
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', requirements]
  const isMade =
    runCommand(python, ['-m', 'venv', folder]) === 0 && runCommand(join(folder, 'bin', 'python'), pip) === 0
  if (isMade) return
  throw new Error(
    'npm test needs the packages in test/e2e/programs/requirements.txt: pip could not install them (see above).',
  )
}

/**
 * The Python that runs the Python senders of test/e2e/programs: that of an environment with their packages, kept in the user's cache.
 * Installs Python by the system's package manager where it is missing and none is named.
 */
export async function bringPython(): Promise<string> {
  const packages = {
    'apt-get': ['python3', 'python3-venv'],
    dnf: ['python3', 'python3-pip'],
    apk: ['python3', 'py3-pip'],
  }
  const { program, version } = findOrInstall(
    'Python',
    findPython,
    process.env['PYTHON'] === undefined ? packages : {},
    'npm test needs Python 3.10 or later with venv: install the packages "python3" and "python3-venv", or name its program in PYTHON.',
  )
  const digest = createHash('sha256').update(readFileSync(requirements)).update(version).digest('hex').slice(0, 16)
  const folder = await bringOnce(`python-${digest}`, async (making) => makeEnvironment(program, making))
  return join(folder, 'bin', 'python')
}
