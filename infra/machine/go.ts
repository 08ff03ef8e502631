import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { which } from './command.ts'
import { findOrInstall } from './system-packages.ts'

/** Where Go's own archive is put, which is not on every PATH. */
const installed = '/usr/local/go/bin/go'
/** Go 1.21 brings by itself the newer one that a module asks for. */
const lowestMinor = 21

/** The Go of this machine; undefined when there is none that is new enough. */
export function findGo(): string | undefined {
  const program = which('go') ?? [installed].find((file) => existsSync(file))
  if (program === undefined) return undefined
  const { stdout } = spawnSync(program, ['env', 'GOVERSION'], { encoding: 'utf8' })
  const minor = Number(/^go1\.(\d+)/.exec(stdout)?.[1])
  return minor >= lowestMinor ? program : undefined
}

/** The Go that builds the NATS server: this machine's, or one that the system's package manager brings. */
export const bringGo = (): string =>
  findOrInstall(
    'Go',
    findGo,
    { 'apt-get': ['golang-go', 'ca-certificates'], dnf: ['golang'], apk: ['go'] },
    'npm test needs Go 1.21 or later to build the NATS server: install it from go.dev, or put it on PATH.',
  )

/** What tells whether a file is Go: it lies beside the compiler, which need not be on PATH. */
export const bringGofmt = (): string => join(dirname(bringGo()), 'gofmt')
