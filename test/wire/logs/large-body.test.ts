import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { scanLogs } from '#src/wire/logs/scan.ts'

function decode(body: string, contentType: string): readonly LogRecord[] {
  const scanned = scanLogs(Buffer.from(body), contentType, limits)
  if (!scanned.ok) throw new Error(scanned.error.detail)
  return decodeLogs(scanned.value.payload, scanned.value.contentType, { receivedAt: 1_795_240_001_079, limits })
}

const texts = Array.from({ length: 3_000 }, (_, index) =>
  stringifyJson({
    message: `€ ${index}`,
    time: index % 3 === 0 ? 1_795_247_820_123_456_789n : '2026-11-21T07:57:00.123456789Z',
    long: BigInt(index) + 2n ** 60n,
    text: 'words '.repeat(300),
    list: [{ index }, [index], 'x'],
  }),
)
const small = texts
  .flatMap((text) => decode(`[${text}]`, 'application/json'))
  .map((record, ordinal) => ({ ...record, ordinal }))

describe('a body of many megabytes of logs, which is parsed record by record', () => {
  for (const [contentType, body] of [
    ['application/json', `[${texts.join(', ')}]`],
    ['application/x-ndjson', texts.join('\n')],
  ] as const) {
    it(`gives the same records as small ones: ${contentType}`, () => {
      expect(body.length).to.be.above(5_000_000)
      expect(decode(body, contentType)).to.deep.equal(small)
    })
  }
})

describe('a log of a million members', () => {
  const program = `
    const { limits } = await import('#src/config.ts')
    const { scanLogs } = await import('#src/wire/logs/scan.ts')
    const [before, after, contentType, count] = process.argv.slice(1)
    const body = Buffer.alloc(12 * Number(count) + 1_000, ' ')
    let at = body.write(before)
    for (let n = 0; n < count; n++) at += body.write(',"' + n.toString(36) + '":0', at)
    body.write(after, at)
    const scanned = scanLogs(body, contentType, limits)
    console.log(scanned.ok ? scanned.value.records : scanned.error.code)`

  for (const [name, before, after, contentType] of [
    ['an array that is called text', '[{"message":"x"', '}]', 'text/plain'],
    ['one in a list beside a level', '{"level":"info","logs":[{"message":"x"', '}]}', 'application/json'],
    ['one in a list beside a member', '{"tag":"x","logs":[{"message":"x"', '}]}', 'application/json'],
  ] as const) {
    it(`is not held in memory, whether it is taken or not: ${name}`, () => {
      for (const [count, answer] of [
        [limits.nodesPerRequestMax - 100, '1\n'],
        [limits.nodesPerRequestMax + 100, 'payload_too_large\n'],
      ] as const) {
        const flags = ['--max-old-space-size=64', '--input-type=module', '-e', program]
        const argv = [...flags, before, after, contentType, String(count)]
        const { stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8' })
        expect(stdout).to.equal(answer)
      }
    }).timeout(60_000)
  }
})
