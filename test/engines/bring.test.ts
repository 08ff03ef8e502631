import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { bringArtifact, type Artifact } from '../../infra/engines/maven.ts'
import { bringElasticsearch } from '../../infra/engines/native-elasticsearch.ts'
import { bringNats } from '../../infra/engines/native-nats.ts'
import { bringJava } from '../../infra/machine/java.ts'
import { failureOf } from './failure-of.ts'

describe('bringing an engine', () => {
  const archive = 'no archive'
  const sha512 = createHash('sha512').update(archive).digest('hex')
  const artifact: Artifact = { group: 'org.example.parts', name: 'engine', version: '1.0', type: 'zip', sha512 }
  const asked: (string | undefined)[] = []
  const variables = ['HOME', 'XDG_CACHE_HOME', 'PATH', 'JAVA_HOME'] as const
  const given = Object.fromEntries(variables.map((name) => [name, process.env[name]]))
  let server: Server
  let home: string
  beforeEach(async () => {
    server = createServer((request, response) => {
      asked.push(request.url)
      response.end(archive)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    home = mkdtempSync(join(tmpdir(), 'throughline-home-'))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mirror`
    mkdirSync(join(home, '.m2'))
    writeFileSync(
      join(home, '.m2', 'settings.xml'),
      `<settings><mirrors><mirror><mirrorOf>central</mirrorOf><url>${url}</url></mirror></mirrors></settings>`,
    )
    Object.assign(process.env, { HOME: home, XDG_CACHE_HOME: join(home, 'cache') })
  })
  afterEach(() => {
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    server.close()
    rmSync(home, { recursive: true })
    asked.length = 0
  })

  it('takes its file from the mirror that the settings name', async () => {
    const file = await bringArtifact(artifact, home)
    expect(readFileSync(file, 'utf8')).to.equal(archive)
    expect(asked).to.deep.equal(['/mirror/org/example/parts/engine/1.0/engine-1.0.zip'])
  })

  it('refuses a file that is not the one which is pinned, and keeps nothing of it', async () => {
    const message = await failureOf(bringElasticsearch({ ...artifact, sha512: 'f'.repeat(128) }))
    expect(message).to.include(`has the SHA-512 ${sha512}, but ${'f'.repeat(128)} was expected`)
    expect(message).not.to.include('\n')
    expect(readdirSync(join(home, 'cache', 'throughline'))).to.deep.equal([])
  })

  it('says in one line that Go or Java is missing', async () => {
    process.env['PATH'] = home
    delete process.env['JAVA_HOME']
    expect(await failureOf(bringNats(() => undefined))).to.match(
      /^The NATS server is built with Go 1\.21 or later, .+\.$/,
    )
    expect(bringJava).to.throw(/^npm test needs Java 17 or later to run Elasticsearch: .+\.$/)
  })
})

describe('a program that is built from Go modules', () => {
  for (const name of ['nats-server', 'victoria-logs', 'jaeger']) {
    it(`is pinned by the digests of all of them, wherever they come from: ${name}`, () => {
      const [pins = '', sums = ''] = ['go.mod', 'go.sum'].map((file) =>
        readFileSync(`infra/engines/${name}/${file}`, 'utf8'),
      )
      expect(pins).to.match(/^tool \S+$/m)
      expect(pins).not.to.include('://')
      for (const line of sums.trimEnd().split('\n')) expect(line).to.match(/^\S+ v\S+ h1:[A-Za-z0-9+/]{43}=$/)
    })
  }
})
