import { mkdirSync, rmdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { noCounts } from '#src/events/envelope.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { cli, firstWorkspaceOf } from '../support/cli.ts'
import { listOf, postOnce, signIn, untilIndexed } from '../support/client.ts'
import { makeEvent } from '../support/make-event.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'
import { hex, otlpJson } from '../support/telemetry.ts'

const json = { 'content-type': 'application/json' }

describe('a server whose disk is full', () => {
  let server: Server
  const reserve = (): string => join(server.dataFolder, 'reserve')
  const send = async (message: string): Promise<number> => {
    const { logs } = server.firstRun.keys
    const body = JSON.stringify({ message, service: 'shop' })
    return (await postOnce(server, '/api/logs/v1/ingest', logs, body, json)).status
  }
  /** Senders of all kinds are told to come again: of another answer, most would make that their data is lost. */
  const expectAllRefused = async (): Promise<void> => {
    const { logs, tracing, publishable } = server.firstRun.keys
    const spans = otlpJson([{ traceId: hex(32, 'late'), spanId: hex(16, 'late') }])
    for (const [path, key, body, code] of [
      ['/api/logs/v1/ingest', logs, '[{"message":"late"}]', 'unavailable'],
      ['/api/rum/v1/ingest', publishable, '{"events":[{"type":"late"}]}', 'unavailable'],
      // Of google.rpc.Code: UNAVAILABLE.
      ['/api/traces/v1/otlp', tracing, spans, 14],
    ] as const) {
      const answer = await postOnce(server, path, key, body, json)
      expect([answer.status, ((await answer.json()) as JsonObject)['code']], path).to.deep.equal([503, code])
      expect(answer.headers.get('retry-after'), path).to.match(/^[1-4]$/)
    }
  }
  const found = async (): Promise<readonly string[]> => {
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const { body } = await reader.get('/api/app/logs/search?service=shop')
    return listOf(body, 'logs').map(({ message }) => String(message))
  }

  beforeEach(async () => {
    server = await startServer()
  })
  afterEach(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  it('is signed in to and searched, refuses senders and says why; with room it goes on, and has all that was acknowledged', async () => {
    expect(statSync(reserve()).size).to.equal(limits.reserveBytes)
    const acknowledged = ['before']
    expect(await send('before')).to.equal(200)
    await untilIndexed(server)
    // Told once: what is accepted in the moment before it is known may be what waits.
    const waits = server.printed(/^projection \w+ is tried again: write to .* \(its disk is full: free some space\)/)
    // Its room was given up, and cannot be had again.
    mkdirSync(`${reserve()}.new`)
    truncateSync(reserve(), 0)
    for (let number = 1; (await send(`late ${number}`)) === 200; number++) acknowledged.push(`late ${number}`)
    await expectAllRefused()
    expect(await found()).to.include('before')
    expect(await cli(server, 'status')).to.deep.include({
      full_disks: [{ folder: server.dataFolder, not: 'accepted or folded' }],
    })

    const stream = await createSqliteStream({
      file: join(server.dataFolder, 'log', '0.db'),
      partition: '0',
      thread: false,
      limits,
    })
    const payload = Buffer.from('[{"message":"beside","service":"shop"}]')
    const counts = { ...noCounts, logs: 1, bytes: payload.length }
    const workspaceId = await firstWorkspaceOf(server)
    const type = 'logs.received'
    const receivedAt = Date.now()
    await stream.append([
      makeEvent('beside', { payload, counts, workspaceId, type, receivedAt, contentType: 'application/json' }),
    ])
    acknowledged.push('beside')
    await stream.close()
    await waits

    const goesOn = server.printed(/ has room again: /)
    rmdirSync(`${reserve()}.new`)
    await goesOn
    while ((await send('after')) !== 200);
    await untilIndexed(server)
    expect((await found()).toSorted()).to.deep.equal([...acknowledged, 'after'].toSorted())
    expect(await cli(server, 'status')).to.deep.include({ full_disks: [] })
  })
})
