import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bringOnce } from '../machine/cache.ts'
import { findGo } from '../machine/go.ts'

/**
 * A server that is built from Go modules. `name`: that of the program, and of the folder here whose go.mod and go.sum pin it. `cgo`: as
 * its own releases are built; it needs a C compiler.
 */
type GoProgram = Readonly<{ name: string; title: string; package: string; cgo?: boolean }>

/**
 * The program, built once from what its go.mod and go.sum pin: Go compares each module with its digest there. `go` finds the Go that
 * builds it, or brings one.
 */
export function bringGoProgram(
  { name, title, package: main, cgo = false }: GoProgram,
  go: () => string | undefined = findGo,
): Promise<string> {
  const source = join(import.meta.dirname, name)
  const pins = createHash('sha256')
  for (const file of ['go.mod', 'go.sum']) pins.update(readFileSync(join(source, file)))
  return bringOnce(`${name}-${pins.digest('hex').slice(0, 16)}`, async (making) => {
    const program = go()
    if (program === undefined) throw new Error(`${title} is built with Go 1.21 or later, which is not on PATH.`)
    console.error(`Building ${name} (once) …`)
    const settings = { CGO_ENABLED: cgo ? '1' : '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' }
    const args = ['build', '-trimpath', '-o', making, main]
    const environment = { ...process.env, ...settings }
    const building = spawn(program, args, { cwd: source, env: environment, stdio: ['ignore', 2, 2] })
    const [status] = await once(building, 'close')
    if (status !== 0) throw new Error(`${title} could not be built: see what Go says above.`)
  })
}
