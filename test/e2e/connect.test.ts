import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { bringPython } from '../../infra/machine/python.ts'
import { borrowChromium, closeTabs, complaintsOf, openSignedIn, openTab, signInOn } from '../support/browser.ts'
import { cli } from '../support/cli.ts'
import { createTenant } from '../support/tenant.ts'
import { listOf, post, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { follow, stepsIn, type ShownStep } from '../support/follow-guide.ts'
import { runProgram } from '../support/run-program.ts'
import { limits } from '#src/config.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

type Connected = Readonly<{ page: string; secret: string; arrival: string }>
type Arrival = Readonly<{ state: string; text: string; link: Readonly<{ path: string; text: string }> }>

describe('the connect flow', () => {
  let server: LentServer
  let reader: Reader
  let browser: Browser

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    browser = await borrowChromium()
  })
  after(async () => {
    await closeTabs(browser)
    await server.giveBack()
  })

  /** Sends the form as a browser does; the page that answers it. */
  async function connect(what: string, guide: string): Promise<Connected> {
    const body = new URLSearchParams({ what, guide })
    const answer = await reader.raw('/app/connect', { method: 'POST', body, headers: { accept: 'text/html' } })
    const page = await answer.text()
    expect(answer.status, page).to.equal(200)
    const [, secret = ''] = /<pre data-secret>([^<]+)<\/pre>/.exec(page) ?? []
    const [, arrival = ''] = /data-arrival="([^"]+)"/.exec(page) ?? []
    return { page, secret, arrival }
  }
  const arrivalOf = async ({ arrival }: Connected): Promise<Arrival> =>
    (await (await reader.raw(arrival)).json()) as Arrival

  async function choose(tab: Page, what: string, guide: string): Promise<void> {
    await tab.goto('/app/connect')
    await signInOn(tab, server.firstRun.sign_in)
    await tab.getByRole('navigation', { name: 'What to connect' }).getByRole('link', { name: what }).click()
    await tab.getByRole('radio', { name: guide, exact: true }).check()
    await tab.getByRole('button', { name: 'show me how' }).click()
  }

  /** A new user who opens the page, chooses, does what it says, and watches. */
  async function watch(
    what: string,
    guide: string,
    act: (steps: readonly ShownStep[]) => Promise<unknown>,
  ): Promise<Readonly<{ text: string; found: string }>> {
    const tab = await openTab(browser, { baseURL: server.baseUrl })
    const complaints = complaintsOf(tab)
    await choose(tab, what, guide)
    // Below the steps, so that they are whole once it is there: a page begins before all of it has come.
    expect(await tab.locator('[data-arrival]').getAttribute('data-state')).to.equal('waiting')
    const list = tab.locator('ol.steps').first()
    const steps = await list.locator('pre').evaluateAll((blocks) =>
      blocks.map((block) => ({
        kind: block.dataset['step'] ?? '',
        file: block.dataset['file'] ?? '',
        code: block.textContent,
      })),
    )
    expect(steps).to.have.length.above(0)
    await act(steps)
    await tab.locator('[data-arrival][data-state=arrived]').waitFor()
    const text = await tab.locator('[data-text]').innerText()
    await tab.locator('[data-arrival] a').click()
    await tab.getByRole('heading', { level: 1 }).waitFor()
    const found = await tab.locator('main').innerText()
    expect(complaints).to.deep.equal([])
    await tab.context().close()
    return { text, found }
  }

  it('leads a new user of Node.js to their first trace', async () => {
    const { text, found } = await watch('Traces', 'Node.js', (steps) => follow(steps))
    expect(text).to.match(/^The first span has arrived from the service my-service, at \d\d:\d\d:\d\d UTC\.$/)
    expect(found).to.include('my-service hello from Node.js')
  })

  it('shows whoever has a key the steps, to be copied', async () => {
    const { tab, complaints } = await openSignedIn(browser, server)
    await tab.goto('/app/connect?what=logs')
    await tab.getByRole('navigation', { name: 'Steps without a new key' }).getByRole('link', { name: 'Vector' }).click()
    await tab.getByRole('heading', { name: 'Vector' }).waitFor()
    // All of the page, and its scripts: they put the buttons there.
    await tab.waitForLoadState()
    expect(await tab.locator('.steps').innerText()).to.include('token: lt_YOUR_KEY')
    const blocks = await tab.locator('pre[data-step]').count()
    expect(await tab.getByRole('button', { name: 'Copy' }).count()).to.equal(blocks)
    await tab.goBack()
    await tab.getByRole('button', { name: 'show me how' }).waitFor()
    expect(complaints).to.deep.equal([])
    await tab.context().close()
  })

  it('leads a new user of a page with Faro to its first session', async () => {
    let site: HttpServer | undefined
    const { text, found } = await watch('Browser events', 'Grafana Faro', async (steps) => {
      const contents = steps.find(({ kind }) => kind === 'file')?.code ?? ''
      const stdin = { contents, resolveDir: process.cwd() }
      const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'iife' })
      site = createServer((request, response) => {
        const isScript = request.url === '/telemetry.js'
        response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html; charset=utf-8')
        response.end(
          isScript ? outputFiles[0]?.text : '<!doctype html><title>Shop</title><script src="/telemetry.js"></script>',
        )
      })
      await new Promise<void>((resolve) => site?.listen(0, '127.0.0.1', resolve))
      const tab = await openTab(browser)
      await tab.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
    })
    site?.close()
    expect(text).to.match(/^The first (?:browser event|log record) has arrived from the service my-shop/)
    expect(found).to.include('Browser events')
  })

  it('says why it looks no longer', async () => {
    const ends = [
      [401, 'This page no longer looks: you are signed out.'],
      [404, 'This page no longer looks: its key is not of the workspace that you are in now.'],
      [400, 'This page no longer looks: its question is no longer answered.'],
    ] as const
    for (const [status, words] of ends) {
      const tab = await openTab(browser, { baseURL: server.baseUrl })
      await tab.route('**/app/connect/*/arrival', (route) => route.fulfill({ status, json: {} }))
      await choose(tab, 'Logs', 'Vector')
      await tab.getByText(words).waitFor()
      await tab.getByRole('link', { name: 'Look again' }).waitFor()
      await tab.context().close()
    }
  })

  it('says so without a script too', async () => {
    const { page, arrival } = await connect('logs', 'curl')
    const again = arrival.replace(/\/arrival$/, '')
    expect(page).to.include(`<a href="${again}">Look again</a>`)
    const key = await reader.raw(again)
    expect(await key.text()).to.include('Waiting for the first log record')
    await follow(stepsIn(page, 'curl'))
    await untilIndexed(server)
    expect(await (await reader.raw(again)).text()).to.include(
      'The first log record has arrived from the service my-service',
    )
  })

  const runnable = [
    ['traces', 'curl', 'hello from curl'],
    ['traces', 'node', 'hello from Node.js'],
    ['traces', 'python', 'hello from Python'],
    ['logs', 'curl', 'hello from curl'],
    ['logs', 'pino', 'hello from Node.js'],
    ['logs', 'python', 'hello from Python'],
    ['browser', 'curl', 'page_view'],
  ] as const
  for (const [what, guide, sent] of runnable) {
    it(`${what}: the steps for ${guide} work as they stand`, async () => {
      const connected = await connect(what, guide)
      const steps = stepsIn(connected.page, guide)
      expect(steps.length).to.be.greaterThan(0)
      expect((await arrivalOf(connected)).state).to.equal('waiting')
      await follow(steps, guide === 'python' ? (process.env['SENDERS_PYTHON'] ?? (await bringPython())) : undefined)
      await untilIndexed(server)
      const arrived = await arrivalOf(connected)
      expect(arrived.state, arrived.text).to.equal('arrived')
      const found = await (await reader.raw(arrived.link.path)).text()
      expect(found).to.include(sent)
    })
  }

  it('traces: the variables alone set up a program that has none of its own', async () => {
    const connected = await connect('traces', 'environment')
    const steps = stepsIn(connected.page, 'environment')
    const program = { kind: 'shell', file: '', code: `node '${join(process.cwd(), 'test/e2e/programs/otel-env.ts')}'` }
    await follow([...steps, program])
    await untilIndexed(server)
    expect((await arrivalOf(connected)).text).to.include('from the service my-service')
  })

  it('goes by the plan, and tells why nothing is stored of what it leaves out', async () => {
    const { workspace, sign_in: account, keys } = await createTenant(server, 'small', 'logs-only')
    const small = await signIn(server.baseUrl, account)
    const form = { method: 'POST', headers: { accept: 'text/html' } }
    const traces = await small.raw('/app/connect', {
      ...form,
      body: new URLSearchParams({ what: 'traces', guide: 'curl' }),
    })
    expect(traces.status).to.equal(403)
    expect(await (await small.raw('/app/connect?what=traces')).text()).to.include('does not include tracing')
    const { keys: listed } = await cli(server, 'key', 'list', '--workspace', workspace)
    const key = listOf({ keys: listed ?? [] }, 'keys').find(({ kind }) => kind === 'publishable')
    const span = { traceId: '5b8efff798038103d269b633813fc60c', spanId: 'eee19b7ec3c1b174', name: 'x' }
    const body = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
    const headers = { 'content-type': 'application/json' }
    expect((await post(server, '/api/rum/v1/ingest', keys.publishable, body, headers)).status).to.equal(202)
    await untilIndexed(server)
    const { state, text } = (await (await small.raw(`/app/connect/${String(key?.['id'])}/arrival`)).json()) as Arrival
    expect(state).to.equal('refused')
    expect(text).to.include('rejected: the plan does not include them')
  })

  it('makes keys of the right kind, of this workspace, and shows no secret twice', async () => {
    const { secret, arrival } = await connect('traces', 'go')
    expect(secret).to.match(/^tt_/)
    const { keys } = await cli(server, 'key', 'list', '--workspace', server.firstRun.workspace)
    expect(listOf({ keys: keys ?? [] }, 'keys').at(-1)).to.deep.include({ kind: 'tracing', name: 'Go' })
    for (const path of ['/app/connect', '/app/keys', arrival.replace(/\/arrival$/, ''), arrival]) {
      expect(await (await reader.raw(path)).text(), path).to.not.include(secret)
    }
    expect((await reader.raw('/app/connect/k0000000000000000/arrival')).status).to.equal(404)
  })

  describe('has code that its readers would take', () => {
    it('Go', async () => {
      const { page } = await connect('traces', 'go')
      const steps = stepsIn(page, 'go')
      const folder = await mkdtemp(join(tmpdir(), 'throughline-go-'))
      const file = join(folder, 'main.go')
      await writeFile(file, steps.find(({ kind }) => kind === 'file')?.code ?? '')
      expect(await runProgram(process.env['GOFMT'] ?? 'gofmt', ['-l', file])).to.deep.equal([])
      await rm(folder, { recursive: true })
      // What Go's HTTP client goes by to send again what a broken connection took.
      expect(steps.map(({ code }) => code).join('\n')).to.match(
        /_HEADERS=Authorization=Bearer%20tt_\w+,X-Idempotency-Key=1$/m,
      )
    })

    it('shells', async () => {
      for (const [what, guides] of [
        ['traces', ['environment', 'node', 'python', 'go', 'java', 'curl']],
        ['logs', ['curl', 'pino', 'python']],
        ['browser', ['faro', 'curl']],
      ] as const) {
        const { page } = await connect(what, guides[0])
        for (const guide of guides) {
          for (const { kind, code } of stepsIn(page, guide)) {
            if (kind === 'file') continue
            const { status, stderr } = spawnSync('sh', ['-n', '-c', code], { encoding: 'utf8' })
            expect(status, `${what} ${guide}: ${stderr}`).to.equal(0)
          }
        }
      }
    })

    it('YAML: the address and the key where each agent reads them', async () => {
      const traces = await connect('traces', 'collector')
      const logs = await connect('logs', 'vector')
      const { hostname, port } = new URL(server.baseUrl)
      const wanted = [
        [
          traces,
          'collector',
          ['exporters', 'otlp_http/throughline', 'traces_endpoint'],
          `${server.baseUrl}/api/traces/v1/otlp`,
        ],
        [
          traces,
          'collector',
          ['exporters', 'otlp_http/throughline', 'headers', 'Authorization'],
          `Bearer ${traces.secret}`,
        ],
        [traces, 'collector', ['service', 'pipelines', 'traces', 'exporters'], '[otlp_http/throughline]'],
        [logs, 'vector', ['sinks', 'throughline', 'batch', 'max_events'], String(limits.recordsPerBatchMax)],
        [logs, 'vector', ['sinks', 'throughline', 'uri'], `${server.baseUrl}/api/logs/v1/ingest`],
        [logs, 'vector', ['sinks', 'throughline', 'auth', 'token'], logs.secret],
        [logs, 'fluent-bit', ['pipeline', 'outputs', '- name', 'host'], hostname],
        [logs, 'fluent-bit', ['pipeline', 'outputs', '- name', 'port'], port],
        [logs, 'fluent-bit', ['pipeline', 'outputs', '- name', 'uri'], '/api/logs/v1/ingest'],
      ] as const
      for (const [{ page }, guide, path, value] of wanted) {
        const code = stepsIn(page, guide).find(({ kind }) => kind === 'file')?.code ?? ''
        expect(valuesOf(code).get(path.join('/')), `${guide} ${path.join('.')}`).to.equal(value)
      }
      const header = stepsIn(logs.page, 'fluent-bit')[0]?.code ?? ''
      expect(header).to.include(`- Authorization Bearer ${logs.secret}\n`)
      expect(logs.page).to.include('mem_buf_limit').and.to.include(`${limits.recordsPerBatchMax} records at most`)
    })

    it('YAML: batches of the Collector that a request may be, of large spans too', async () => {
      const { page } = await connect('traces', 'collector')
      const code = stepsIn(page, 'collector').find(({ kind }) => kind === 'file')?.code ?? ''
      const [readme = ''] = /^```yaml\n[^]*?^```/m.exec(readFileSync('README.md', 'utf8')) ?? []
      for (const yaml of [code, readme]) {
        const [, least, most] = /^ +batch:\n +min_size: (\d+)\n +max_size: (\d+)$/m.exec(yaml) ?? []
        const spans = Number(most)
        // It does not start otherwise.
        expect(Number(least)).to.be.at.most(spans)
        expect(spans * 20 * 1024).to.be.at.most(limits.bodyBytesMax)
        expect(spans * 64 * 1024).to.be.at.most(limits.decodedBytesMax)
      }
    })
  })
})

/** The scalars of block YAML by their path; throws where a line is no `name: value` at a level that is open. */
function valuesOf(yaml: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  let open: { indent: number; name: string }[] = []
  for (const line of yaml.trimEnd().split('\n')) {
    const [, blanks = '', item = '', name = '', value = ''] = /^( *)(- )?([\w/.-]+):(?: (.+))?$/.exec(line) ?? []
    if (name === '' && /^ *- \S/.test(line)) continue
    if (name === '' || blanks.length % 2 !== 0) throw new Error(`no YAML that we write: ${JSON.stringify(line)}`)
    open = open.filter(({ indent }) => indent < blanks.length)
    open.push({ indent: blanks.length, name: item + name })
    if (value !== '') values.set(open.map((each) => each.name).join('/'), value)
  }
  return values
}
