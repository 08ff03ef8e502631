import { execFileSync } from 'node:child_process'
import { getPriority, platform } from 'node:os'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'

const folding = JSON.stringify(new URL('../../src/compose/threads/give-way.ts', import.meta.url).href)

/** What the priority of a thread is once it has given way, which began with that of its maker. */
async function priorityAfter(ofItsMaker: number): Promise<number> {
  const program = `
    const { getPriority, setPriority } = await import('node:os')
    const { parentPort } = await import('node:worker_threads')
    const { giveWay } = await import(${folding})
    if (getPriority() < ${ofItsMaker}) setPriority(${ofItsMaker})
    giveWay()
    parentPort.postMessage(getPriority())`
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  return new Promise((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}

/** The priorities of a process's threads by their names, once one has given way. */
function prioritiesAfter(to: number): ReadonlyMap<string, ReadonlySet<number>> {
  const inThread = `
    import { parentPort } from 'node:worker_threads'
    import { giveWay } from ${folding}
    giveWay(${to})
    parentPort.postMessage(0)`
  const thread = JSON.stringify(`data:text/javascript,${encodeURIComponent(inThread)}`)
  const program = `
    import { readdirSync, readFileSync } from 'node:fs'
    import { getPriority } from 'node:os'
    import { Worker } from 'node:worker_threads'
    new Worker(new URL(${thread})).once('message', () => {
      const nameOf = (id) => readFileSync('/proc/self/task/' + id + '/comm', 'utf8').trim()
      const told = readdirSync('/proc/self/task').map((id) => [nameOf(id), getPriority(Number(id))])
      console.log(JSON.stringify(told))
      process.exit()
    })`
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
  const priorities = new Map<string, Set<number>>()
  for (const [name, priority] of JSON.parse(told) as readonly (readonly [string, number])[])
    priorities.set(name, (priorities.get(name) ?? new Set()).add(priority))
  return priorities
}

describe('a thread that folds', () => {
  it('gives way to those who wait for an answer, and never asks for more than it had', async function () {
    // Elsewhere a priority is not a thread's own.
    if (platform() !== 'linux') this.skip()
    expect(await priorityAfter(0)).to.equal(Math.max(10, getPriority()))
    // Only root may raise one: a sample's folds would end there.
    expect(await priorityAfter(19)).to.equal(19)
  })

  it('goes on as it was where the system lets nobody change a priority', () => {
    const program = `
      import { syncBuiltinESMExports } from 'node:module'
      import os from 'node:os'
      os.setPriority = () => { throw new Error('uv_os_setpriority returned EPERM (operation not permitted)') }
      syncBuiltinESMExports()
      const { giveWay } = await import(${folding})
      giveWay(19)
      console.log('goes on')`
    const said = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    expect(said.trim()).to.equal('goes on')
  })

  it('has V8’s threads give way with it, and nobody else', function () {
    if (platform() !== 'linux') this.skip()
    const own = getPriority()
    for (const to of [10, 19]) {
      const priorities = prioritiesAfter(to)
      expect(priorities.get('V8Worker')).to.deep.equal(new Set([Math.max(10, own)]))
      expect(priorities.get('MainThread')).to.deep.equal(new Set([own]))
    }
  })
})
