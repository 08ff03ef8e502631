import { expect } from 'chai'
import { cli } from '../support/cli.ts'
import { listOf, post, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { withPlainTimes } from '../support/plain-times.ts'
import { removeFolder, startServer, type Server } from '../support/server.ts'

const json = { 'content-type': 'application/json' }

describe('pages about keys, usage and what was done, of a server', () => {
  let server: Server
  let reader: Reader
  before(async () => {
    server = await startServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  const page = async (path: string): Promise<string> => {
    const answer = await reader.raw(path, { headers: { accept: 'text/html' } })
    expect(answer.status, path).to.equal(200)
    return answer.text()
  }
  /** Another process may have done what a page is to tell: it is followed, not waited for. */
  const pageWith = async (path: string, deed: RegExp): Promise<string> => {
    for (;;) {
      const text = await page(path)
      if (deed.test(text)) return text
    }
  }
  const submit = (path: string, fields: Readonly<Record<string, string>>): Promise<Response> =>
    reader.raw(path, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { accept: 'text/html' },
      redirect: 'manual',
    })
  let accepted = 0
  const log = async (key: string): Promise<number> => {
    const { status } = await post(server, '/api/logs/v1/ingest', key, '{"message":"hello","service":"audited"}', json)
    if (status === 200) accepted++
    return status
  }

  it('a rotated key works beside its successor until it is revoked', async () => {
    const { keys } = await cli(server, 'key', 'list', '--workspace', server.firstRun.workspace)
    const old = listOf({ keys: keys ?? [] }, 'keys').find(({ kind }) => kind === 'logs')
    const key = String(old?.['id'])
    const rotated = await submit('/app/keys', { action: 'rotate', key, hours: '1' })
    const [, secret = ''] = /<pre data-secret>(lt_\w+)<\/pre>/.exec(await rotated.text()) ?? []
    expect([await log(server.firstRun.keys.logs), await log(secret)]).to.deep.equal([200, 200])
    expect((await submit('/app/keys', { action: 'revoke', key })).status).to.equal(303)
    // Another process may have made the change: it is followed, not waited for.
    let refused = await log(server.firstRun.keys.logs)
    while (refused === 200) refused = await log(server.firstRun.keys.logs)
    expect([refused, await log(secret)]).to.deep.equal([401, 200])
    await untilIndexed(server)
    // A busy index may not say at once when keys were used.
    const made = /<code>lt_…[\s\S]*?<td data-head="Created">\s*(<time [^>]*>\d{4}-(?:(?!not known)[\s\S])*?)<\/tr>/
    const [, row = ''] = made.exec(await pageWith('/app/keys', made)) ?? []
    expect(withPlainTimes(row)).to.match(/UTC\s*<\/td>\s*<td data-head="Last used">\s*\d{4}-\d\d-\d\d \d\d:\d\d UTC/)
  })

  it('usage counts what was accepted, by service', async () => {
    await untilIndexed(server)
    expect(accepted).to.be.at.least(3)
    const number = (value: string): string => `<td class="number"[^>]*>\\s*${value}\\s*<\\/td>\\s*`
    const link = `<a href="\\/app\\/logs\\?service=audited&[^"]*">${accepted}<\\/a>`
    const row = `<th scope="row">audited<\\/th>\\s*${number('0')}${number(link)}`
    expect(await page('/app/usage')).to.match(new RegExp(row))
  })

  it('usage shows what was refused whole: a shipper throws it away, and nobody reads its log', async () => {
    const { secret } = await cli(server, 'key', 'create', '--workspace', server.firstRun.workspace, '--kind', 'logs')
    const tooMany = `[${'{},'.repeat(10_000)}{}]`
    expect((await post(server, '/api/logs/v1/ingest', String(secret), tooMany, json)).status).to.equal(413)
    await untilIndexed(server)
    expect(await page('/app/usage')).to.match(/one request held too many of<\/td>\s*<td[^>]*>\s*10,001\s*<\/td>/)
  })

  it('the audit has what pages, scripts and the command line did, also after a restart', async () => {
    await (await reader.raw('/app/logs/export?q=hello')).text()
    await cli(server, 'workspace', 'plan', server.firstRun.workspace, 'free')
    const wanted = [
      'The plan was changed from pro to free.',
      'Logs were exported as ndjson: q=hello',
      'was revoked.',
      'was rotated to',
      'Signed in from 127.0.0.1.',
      'became a member (owner).',
    ]
    const text = await pageWith('/app/audit', /from pro to free/)
    for (const deed of wanted) expect(text).to.include(deed)
    await server.stop()
    server = await startServer({ dataFolder: server.dataFolder })
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const again = await page('/app/audit')
    for (const deed of wanted) expect(again).to.include(deed)
  })
})
