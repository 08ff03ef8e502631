import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'

/** A process of a role whose clock has been at 1970 since it began, as on a machine without a clock of its own. */
function startAt1970(...argv: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-'))
  const secrets = { SESSION_KEYS: 's'.repeat(32), KEY_PEPPER: 'p'.repeat(32) }
  const engines = { NATS_URL: 'nats://127.0.0.1:1', ELASTICSEARCH_URL: 'http://127.0.0.1:1' }
  const own = argv.length === 0 ? { THROUGHLINE_DATA: folder } : { ...secrets, ...engines }
  const clock = ['--import', 'data:text/javascript,Date.now=()=>60_000']
  const options = {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, ...own, PORT: '0', HOST: '127.0.0.1' },
  } as const
  const { status, stderr } = spawnSync(process.execPath, [...clock, 'src/main.ts', ...argv], options)
  const left = readdirSync(folder)
  rmSync(folder, { recursive: true })
  return { status, stderr, left }
}

describe('a clock that says a time before this program', () => {
  it('keeps a process of any role from starting, before anything is made', () => {
    for (const role of [[], ['ingest'], ['project'], ['query']]) {
      expect(startAt1970(...role), role.join()).to.deep.equal({
        status: 1,
        stderr:
          'throughline: start with a clock that says 1970-01-01T00:01:00.000Z (set it, or start after time-sync: what came in now would be filed under that day, and be past all retention)\n',
        left: [],
      })
    }
  })
})
