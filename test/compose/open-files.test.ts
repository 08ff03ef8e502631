import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { expect } from 'chai'
import { checkOpenFiles, connectionsMax, embeddedFilesOpen, openFilesMax } from '#src/compose/open-files.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { rawConnection } from '../support/http.ts'
import { makeOldLog } from '../support/old-log.ts'

/** What the first line that fits says. */
async function lineOf(output: Readable, pattern: RegExp): Promise<string> {
  for await (const line of createInterface(output)) {
    const [, said] = pattern.exec(line) ?? []
    if (said !== undefined) return said
  }
  throw new Error('it has ended')
}

describe('how many files a process may open', () => {
  it('is what Linux says of it, where it says so', () => {
    const said = (soft: string) =>
      openFilesMax(() => `Max processes    5   6   processes\nMax open files    ${soft}   4096   files\n`)
    expect([said('1024'), said('unlimited')]).to.deep.equal([1_024, undefined])
    const unknown = openFilesMax(() => {
      throw new Error('no such file')
    })
    expect(unknown).to.equal(undefined)
    checkOpenFiles(256, unknown)
    checkOpenFiles(256, 256)
    expect(() => checkOpenFiles(256, 255)).to.throw('at most 255 open files')
  })

  it('is said before a server begins that could do nothing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-'))
    const argv = [process.execPath, 'src/main.ts', '--port', '0', '--host', '127.0.0.1', '--data', folder]
    const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...argv], { encoding: 'utf8' })
    const left = readdirSync(folder)
    rmSync(folder, { recursive: true })
    expect([status, stderr]).to.deep.equal([
      1,
      'throughline: start with at most 64 open files (it needs 512 or more, and one for each connection: raise the limit (ulimit -n))\n',
    ])
    expect(left).to.deep.equal([])
  })

  it('and how much memory there is, tell how many index files a projector has open, and query threads', () => {
    const limits = { indexFilesOpenMax: 256, embeddedFilesOpenMax: 1_024 }
    const gib = 1024 ** 3
    const open = (memory: number, handles?: number) => embeddedFilesOpen(limits, { memory, handles })
    expect([gib, 2 * gib, 4 * gib, 8 * gib, 64 * gib].map((memory) => open(memory))).to.deep.equal([
      256, 256, 512, 1_024, 1_024,
    ])
    expect([256, 1_024, 4_096, 65_536].map((handles) => open(8 * gib, handles))).to.deep.equal([21, 85, 341, 1_024])
  })

  it('bound the connections, so that new senders are served beside any number of idle ones', async () => {
    expect([512, 65_536, Infinity].map((handles) => connectionsMax(handles))).to.deep.equal([128, 16_384, Infinity])
    const folder = mkdtempSync(join(tmpdir(), 'throughline-'))
    const argv = [process.execPath, 'src/main.ts', '--port', '0', '--host', '127.0.0.1', '--data', folder]
    const server = spawn('sh', ['-c', 'ulimit -n 512; exec "$@"', 'sh', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
    const left = once(server, 'exit')
    const told = lineOf(server.stderr, /^(more than \d+ connections,.*)$/)
    try {
      const port = Number(await lineOf(server.stdout, /^Throughline listening on http:.*?:(\d+) /))
      const ask = async () => {
        const connection = await rawConnection(port)
        connection.write('GET /nothing HTTP/1.1\r\nHost: test\r\n\r\n')
        return connection
      }
      const idle = await Promise.all(Array.from({ length: 700 }, ask))
      expect(await told).to.equal(
        'more than 128 connections, a quarter of the files that this process may open: those idle for longest are closed for others; for more, ' +
          'raise that limit (ulimit -n)',
      )
      const sender = await ask()
      expect(await sender.until((text) => text.includes('not_found'))).to.match(/^HTTP\/1\.1 404 /)
      for (const { socket } of [...idle, sender]) socket.destroy()
    } finally {
      server.kill('SIGTERM')
      await left
      rmSync(folder, { recursive: true })
    }
  })

  it('are enough for verbs whose files are many more', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-'))
    const days = Array.from({ length: 48 }, (_, n) => [workspaceIdOf(`w${n >> 1}`), 2 - (n % 2)] as const)
    await makeOldLog(folder, days)
    for (const verb of ['rebuild', 'verify']) {
      const argv = [process.execPath, 'src/main.ts', verb, 'all', '--data', folder]
      const command = ['-c', 'ulimit -n 256; exec "$@"', 'sh', ...argv]
      const { status, stderr } = spawnSync('sh', command, { encoding: 'utf8' })
      expect(status, `${verb}: ${stderr}`).to.equal(0)
    }
    rmSync(folder, { recursive: true })
  })
})
