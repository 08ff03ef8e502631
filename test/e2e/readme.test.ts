import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { settingNames } from '#src/config.ts'
import { untilIndexed } from '../support/client.ts'
import { newDataFolder, removeFolder } from '../support/server.ts'

type Block = Readonly<{ heading: string; command: string }>

const readme = readFileSync('README.md', 'utf8')

/** The shell blocks of the README, under the headings they stand under. */
const blocks: readonly Block[] = readme.split(/^## /m).flatMap((part) => {
  const heading = part.split('\n', 1)[0] ?? ''
  return [...part.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, command = '']) => ({
    heading,
    command: command.trim(),
  }))
})

const pages = globSync('{*.md,{src,streams,projections,infra,test}/**/*.md}').filter(
  (page) => !page.includes('node_modules'),
)

/** Where a link into a page may lead: its headings as GitHub names them. */
const anchorsOf = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-'),
  )

/** Runs shell commands as a reader would paste them; what they print. Fails on the first that fails. */
async function shell(commands: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn('bash', ['-euc', commands.join('\n')], { env: { ...process.env, ...environment } })
  let printed = ''
  let complaints = ''
  child.stdout.on('data', (chunk) => (printed += String(chunk)))
  child.stderr.on('data', (chunk) => (complaints += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  expect(code, `${commands.join('\n')}\n${printed}\n${complaints}`).to.equal(0)
  return printed
}

describe('README', () => {
  const under = (heading: string): string[] =>
    blocks.filter((block) => block.heading === heading).map(({ command }) => command)

  it('names the start and the test command, and .ci/run runs exactly the latter', () => {
    expect(under('Start')[0]).to.equal('npm start')
    expect(under('Test')).to.deep.equal(['npm test'])
    const script = readFileSync('.ci/run', 'utf8').split('\n')
    expect(script.filter((line) => line.startsWith('npm'))).to.deep.equal(under('Test'))
  })

  it('has every shell command under a heading that is run here', () => {
    expect(new Set(blocks.map(({ heading }) => heading))).to.deep.equal(
      new Set(['Start', 'Test', 'Send', 'Search', 'Manage']),
    )
  })

  it('starts, sends, searches and manages by its own commands', async () => {
    const dataFolder = await newDataFolder()
    const [start = '', load = ''] = under('Start')
    const child = spawn(`exec ${start} -- --port 0 --host 127.0.0.1 --data ${dataFolder}`, {
      shell: 'bash',
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    try {
      const lines = createInterface({ input: child.stdout })
      for await (const line of lines) if (/listening on http/.test(line)) break
      const environment = { THROUGHLINE_DATA: dataFolder }
      await shell([load, ...under('Send')], environment)
      await untilIndexed({ dataFolder })
      const found = await shell([load, ...under('Search')], environment)
      expect(found).to.include('payment declined')
      expect(found).to.include('5b8efff798038103d269b633813fc60c')
      expect(found, 'the browser event').to.include('first-session')
      const managed = await shell([load, ...under('Manage')], environment)
      expect(managed).to.include('tt_')
    } finally {
      const gone = once(child, 'close')
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await gone
      await removeFolder(dataFolder)
      await rm('cookies.txt', { force: true })
    }
  })

  it('leads, like every page beside it, to files and headings that are there', () => {
    const lost = pages.flatMap((page) =>
      [...readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(
        ([link, path = '', anchor]) => {
          const target = path === '' ? page : join(dirname(page), path)
          const isThere = existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
          return isThere ? [] : [`${page}: ${link}`]
        },
      ),
    )
    expect(lost).to.deep.equal([])
    expect(pages).to.include.members(['README.md', 'infra/operating.md'])
  })

  it('names every setting of config.ts', () => {
    const [section = ''] = readme.split(/^## Settings$/m)[1]?.split(/^## /m) ?? []
    const named = [...section.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, names = '']) => names.match(/[A-Z_]+/g) ?? [])
    expect(named).to.have.members([...settingNames])
  })
})
