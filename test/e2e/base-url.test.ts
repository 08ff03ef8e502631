import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { post } from '../support/client.ts'
import { removeFolder, startServer } from '../support/server.ts'

describe('a server with a BASE_URL', () => {
  it('says where it listens, and where its links lead: BASE_URL may be of another server', async () => {
    const environment = { BASE_URL: 'https://front.example:1' }
    const server = await startServer({ environment, form: 'embedded' })
    try {
      expect(server.baseUrl).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
      expect(server.output).to.include(
        `Throughline listening on ${server.baseUrl} (data in ${server.dataFolder}; links lead to BASE_URL https://front.example:1)`,
      )
      expect(server.firstRun.base_url).to.equal(environment.BASE_URL)
      const type = { 'content-type': 'application/json' }
      const answer = await post(server, '/api/logs/v1/ingest', server.firstRun.keys.logs, '{"message":"here"}', type)
      expect(answer.status).to.equal(200)
      // People come by TLS, which ends in front of it.
      const body = new URLSearchParams(server.firstRun.sign_in)
      const signedIn = await fetch(`${server.baseUrl}/app/sign-in`, { method: 'POST', redirect: 'manual', body })
      const [cookie = ''] = signedIn.headers.getSetCookie()
      expect(signedIn.status).to.equal(303)
      expect(cookie).to.match(/^__Host-throughline=.*; secure/)
      // The browser keeps it as long as a session may last: until then it is the server that says whether it has.
      const [, expires = ''] = /; expires=([^;]+)/.exec(cookie) ?? []
      const lastsMs = Date.parse(expires) - Date.parse(signedIn.headers.get('date') ?? '')
      expect(Math.round(lastsMs / 86_400_000)).to.equal(limits.sessionAbsoluteMs / 86_400_000)
    } finally {
      await server.stop()
      await removeFolder(server.dataFolder)
    }
  })
})
