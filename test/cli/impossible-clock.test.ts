import { mock } from 'node:test'
import { expect } from 'chai'
import { verbs } from '#src/cli/verbs.ts'
import { limits } from '#src/config.ts'
import { useInstallation } from './harness.ts'

describe('a clock that says a time before this program, while somebody types verbs', () => {
  const { run, json } = useInstallation()
  afterEach(() => mock.restoreAll())

  const writing = [
    'workspace create b',
    'workspace plan acme pro',
    'workspace erase acme --confirm acme',
    'user create a@example.com --workspace acme',
    'user add a@example.com --workspace acme',
    'user remove a@example.com --workspace acme',
    'user password a@example.com',
    'key create --workspace acme --kind logs',
    'key rotate k1',
    'key revoke k1',
    'rebuild all',
    'rollback all',
    'drop logs-v1-001',
    'dead-letters retry 0/4096',
    'dead-letters drop 0/4096',
    'first-run --base-url http://localhost',
  ]
  const reading = [
    'workspace list',
    'key list --workspace acme',
    'status',
    'builds',
    'verify all',
    'dead-letters list',
    'replay',
  ]

  it('keeps all that write from writing anything, and none that only read from reading', async () => {
    await run(['workspace', 'create', 'acme'])
    const { directory: before } = await json('status')
    for (const wrong of [60_000, limits.clockMinMs - 1]) {
      mock.method(Date, 'now', () => wrong)
      for (const words of writing) {
        const { code, out, err } = await run(words.split(' '))
        expect([code, out], words).to.deep.equal([1, ''])
        const said = new Date(wrong).toISOString()
        expect(err, words)
          .to.match(/^throughline: \S/)
          .and.contain(` with a clock that says ${said} (set it first: `)
      }
      for (const words of reading) expect((await run(words.split(' '))).code, words).to.equal(0)
      mock.restoreAll()
    }
    expect((await json('status'))['directory']).to.deep.equal(before)
  })

  it('is asked for by every verb but those that are known to write nothing that is dated', async () => {
    const loaded = await Promise.all(Object.entries(verbs).map(async ([name, load]) => ({ name, ...(await load()) })))
    const others = [
      'workspace list',
      'key list',
      'status',
      'builds',
      'verify',
      'dead-letters list',
      'dead-letters show',
    ]
    expect(loaded.filter(({ writes }) => writes !== true).map(({ name }) => name)).to.deep.equal([
      ...others,
      'replay',
      'backup',
      'move-log',
      'env',
    ])
  })
})
