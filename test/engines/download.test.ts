import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkDigest, download } from '../../infra/engines/download.ts'
import { mirrorsOf } from '../../infra/engines/maven.ts'
import { failureOf } from './failure-of.ts'

describe('downloads', () => {
  const body = 'the archive'
  const sha512 = createHash('sha512').update(body).digest('hex')
  let server: Server
  let base: string
  let folder: string
  let file: string
  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/good') response.end(body)
      else if (request.url === '/torn')
        response.writeHead(200, { 'content-length': 100 }).end(body, () => request.destroy())
      else response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    folder = mkdtempSync(join(tmpdir(), 'throughline-download-'))
    file = join(folder, 'archive')
  })
  after(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  it('come from the first address that gives the file', async () => {
    await download([`${base}/missing`, `${base}/torn`, `${base}/good`, `${base}/missing`], file)
    expect(readFileSync(file, 'utf8')).to.equal(body)
    await checkDigest(file, sha512)
  })

  it('say in one line which addresses were tried and why none served', async () => {
    const message = await failureOf(download(['http://127.0.0.1:9/archive', `${base}/missing`], file))
    expect(message).to.match(/^No download: http:\/\/127\.0\.0\.1:9\/archive: .+; http:\/\/\S+\/missing: status 404$/)
  })

  it('are thrown away when a byte is not what the digest says', async () => {
    writeFileSync(file, 'the Archive')
    expect(await failureOf(checkDigest(file, sha512)))
      .to.include(sha512)
      .and.to.include('thrown away')
    expect(existsSync(file)).to.equal(false)
  })

  it('go to the mirrors of Maven Central that the settings name', () => {
    const settings = `<settings><mirrors>
      <!-- <mirror><mirrorOf>*</mirrorOf><url>https://commented.example/</url></mirror> -->
      <mirror><id>a</id><mirrorOf>*,!own</mirrorOf><url> https://all.example/maven/ </url></mirror>
      <mirror><mirrorOf>other</mirrorOf><url>https://other.example</url></mirror>
      <mirror><url>http://central.example/m2</url><mirrorOf>central</mirrorOf></mirror>
      <mirror><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url></mirror>
      <mirror><mirrorOf>*,!central</mirrorOf><url>https://but.example</url></mirror>
    </mirrors></settings>`
    expect(mirrorsOf(settings)).to.deep.equal(['https://all.example/maven', 'http://central.example/m2'])
    expect(mirrorsOf('<settings/>')).to.deep.equal([])
  })
})
