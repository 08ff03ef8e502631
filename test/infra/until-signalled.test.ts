import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'

describe('a program that runs until it is told to stop', () => {
  it('stops in its own time, though Ctrl-C comes from the terminal and once more from the launcher', async () => {
    const helper = pathToFileURL(resolve('infra/machine/until-signalled.ts')).href
    const script = `
      import { untilSignalled } from ${JSON.stringify(helper)}
      const awake = setInterval(() => undefined, 1 << 30)
      const signalled = untilSignalled()
      console.log('ready')
      await signalled
      console.log('stopping')
      process.stdin.once('data', () => {
        console.log('stopped')
        process.exit(0)
      })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
    const gone = once(child, 'exit')
    const lines: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line)
      if (line === 'ready') child.kill('SIGINT')
      if (line === 'stopping') {
        child.kill('SIGINT')
        child.stdin.end('go on\n')
      }
    }
    expect([lines, await gone]).to.deep.equal([
      ['ready', 'stopping', 'stopped'],
      [0, null],
    ])
  })
})
