// Runs under whatever Node the host has (20.19 or later): installs from the lockfile when node_modules is missing or
// stale, then runs the given file with the Node 24 that the lockfile brings. `--bin NAME` runs a package's command instead.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants as system, homedir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const modules = join(root, 'node_modules')
const stamp = join(modules, '.throughline-lock')

const lock = join(root, '.installing')
const breaking = join(root, '.installing.breaking')
const lockPollMs = 200
const lockPatienceMs = 600_000

/** @param {string} file */
function create(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
}

/**
 * Whether who holds the lock was killed; false as well when it has just been let go. We wait for a lock before we have one, so with our pid it
 * is of one who was killed: in a container, each run may have the pid of the one before.
 */
function isLeft() {
  try {
    const pid = Number(readFileSync(lock, 'utf8'))
    if (pid === process.pid) return true
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

/** Removes a lock that was left. One at a time does, or a slow one would remove the lock that somebody has taken since it looked. */
function breakLock() {
  if (!create(breaking)) return
  if (isLeft()) rmSync(lock, { force: true })
  rmSync(breaking)
}

/**
 * Waits while another installs: two at once break each other. Of one that was killed nobody is left to wait for; one whose number
 * another process has by now is waited for no longer than an installation takes.
 */
function takeLock() {
  for (const until = Date.now() + lockPatienceMs; !create(lock);) {
    if (isLeft()) breakLock()
    if (Date.now() > until) for (const file of [breaking, lock]) rmSync(file, { force: true })
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockPollMs)
  }
}

function install() {
  const digest = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')
  const isInstalled = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === digest
  if (isInstalled()) return
  takeLock()
  const isDone = isInstalled() || installAll(digest)
  rmSync(lock, { force: true })
  if (!isDone) process.exit(1)
}

/** @param {string} digest */
function installAll(digest) {
  console.error('Installing packages from the lockfile (once) …')
  // All of them, whatever NODE_ENV says: the demo and the tests need those of development, and what is here is not looked at again.
  const npm = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) {
    console.error('npm ci failed: the packages in package-lock.json could not be installed (see above).')
    return false
  }
  mkdirSync(modules, { recursive: true })
  writeFileSync(stamp, digest)
  return true
}

/**
 * Where Node keeps our compiled sources from start to start, which is half of what a start costs: beside the engines, and only where
 * that can be written.
 */
function compileCache() {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return {}
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'throughline', 'compiled')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK | constants.X_OK)
    return { NODE_COMPILE_CACHE: folder }
  } catch {
    return {}
  }
}

/**
 * Once glibc has freed a large block, it keeps all that are not larger for the next, up to 32 MiB each: hundreds of megabytes where
 * bodies come and go. So what is larger than 1 MiB goes back to the system when it is freed, and of the rest, what is free at the end of
 * a heap beyond 8 MiB. The image has the same (infra/Dockerfile).
 */
const freeing = { MALLOC_MMAP_THRESHOLD_: '1048576', MALLOC_TRIM_THRESHOLD_: '8388608' }

/** @param {string[]} args */
function run(args) {
  const [first, second, ...rest] = args
  if (first === undefined) throw new Error('usage: launch.mjs FILE [ARG ...] | --bin NAME [ARG ...]')
  const node = join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  const command =
    first === '--bin' ? [join(modules, '.bin', second ?? ''), ...rest] : [node, join(root, first), ...args.slice(1)]
  const env = {
    ...freeing,
    ...process.env,
    ...compileCache(),
    PATH: join(modules, '.bin') + (process.platform === 'win32' ? ';' : ':') + process.env.PATH,
  }
  const child = spawn(command[0], command.slice(1), { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (/** @type {NodeJS.ErrnoException} */ { code }) => {
    const what = `${relative(root, command[0])} cannot be run (${code}).`
    console.error(
      `${what} Where npm runs no install scripts, this brings Node: npm rebuild node --ignore-scripts=false`,
    )
    process.exit(1)
  })
  child.on('exit', (code, signal) => {
    // What a shell makes of it: codes of verbs have meanings of their own.
    if (signal === 'SIGKILL') console.error('Killed from outside (SIGKILL), as by a system without enough memory.')
    process.exit(signal ? 128 + system.signals[signal] : (code ?? 1))
  })
}

install()
run(process.argv.slice(2))
