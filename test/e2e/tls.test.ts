import { writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { makeCertificate } from '../support/certificate.ts'
import { newDataFolder, removeFolder, startServer, type Server } from '../support/server.ts'

describe('a server that serves TLS itself', () => {
  const { certificate, key } = makeCertificate()
  let server: Server
  before(async () => {
    const dataFolder = await newDataFolder()
    const environment = { TLS_CERT: join(dataFolder, 'cert.pem'), TLS_KEY: join(dataFolder, 'key.pem') }
    await writeFile(environment.TLS_CERT, certificate)
    await writeFile(environment.TLS_KEY, key)
    server = await startServer({ dataFolder, environment })
  })
  after(async () => {
    await server.stop()
    await removeFolder(server.dataFolder)
  })

  async function post(path: string, type: string, body: string, headers: Readonly<Record<string, string>>) {
    const url = new URL(path, server.baseUrl)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const options = { method: 'POST', ca: certificate, headers: { 'content-type': type, ...headers } }
    request(url, options, resolve).on('error', reject).end(body)
    const response = await promise
    return { status: response.statusCode, cookies: response.headers['set-cookie'] ?? [], body: await text(response) }
  }

  it('says so in its address, and takes telemetry', async () => {
    expect(server.baseUrl).to.match(/^https:\/\/127\.0\.0\.1:\d+$/)
    const { base_url: address, keys } = server.firstRun
    expect(address).to.equal(server.baseUrl)
    const authorization = `Bearer ${keys.logs}`
    const answer = await post('/api/logs/v1/ingest', 'application/json', '{"message":"over TLS"}', { authorization })
    expect([answer.status, JSON.parse(answer.body)]).to.deep.equal([200, { accepted: 1, rejected: 0, errors: [] }])
  })

  it('gives people a cookie that browsers send back over TLS alone, for as long as a session may last', async () => {
    const before = Date.now()
    const form = new URLSearchParams(server.firstRun.sign_in).toString()
    const headers = { origin: server.baseUrl }
    const answer = await post('/app/sign-in', 'application/x-www-form-urlencoded', form, headers)
    expect(answer.status).to.equal(303)
    const [cookie = ''] = answer.cookies.filter((each) => each.includes('throughline='))
    expect(cookie).to.match(/^__Host-throughline=/)
    expect(cookie.split('; ').map((part) => part.toLowerCase())).to.include.members(['secure', 'httponly', 'path=/'])
    const [, expires = ''] = /; expires=([^;]+)/.exec(cookie) ?? []
    // To the second.
    const earliest = before + limits.sessionAbsoluteMs - 1_000
    expect(Date.parse(expires)).to.be.within(earliest, Date.now() + limits.sessionAbsoluteMs)
  })
})
