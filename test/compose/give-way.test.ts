import { getPriority, platform } from 'node:os'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'

/** What the priority of a thread is once it has given way, which began with that of its maker. */
async function priorityAfter(ofItsMaker: number): Promise<number> {
  const folding = new URL('../../src/compose/threads/folding.ts', import.meta.url).href
  const program = `
    const { getPriority, setPriority } = await import('node:os')
    const { parentPort } = await import('node:worker_threads')
    const { giveWay } = await import(${JSON.stringify(folding)})
    if (getPriority() < ${ofItsMaker}) setPriority(${ofItsMaker})
    giveWay()
    parentPort.postMessage(getPriority())`
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`))
  return new Promise((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
}

describe('a thread that folds', () => {
  it('gives way to those who wait for an answer, and never asks for more than it had', async function () {
    // Elsewhere a priority is not a thread's own.
    if (platform() !== 'linux') this.skip()
    expect(await priorityAfter(0)).to.equal(Math.max(10, getPriority()))
    // Only root may raise one: a sample's folds would end there.
    expect(await priorityAfter(19)).to.equal(19)
  })
})
