import { expect } from 'chai'
import { stringifyJson, type Json } from '#src/lib/json.ts'
import { answerOf, at, post, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'

const inText = (message: string, rest: string): Json => ({ log: `{"level":"info","msg":"${message}",${rest}}` })

const text = (value: string): Buffer => Buffer.concat([Buffer.from([0xa0 + value.length]), Buffer.from(value)])
/** `{ msg: message, { { … 1: 1 … }: 1 }: 1 }` */
const keysInKeys = (message: string): Buffer =>
  Buffer.concat([Buffer.from([0x82]), text('msg'), text(message), Buffer.alloc(60, 0x81), Buffer.alloc(62, 0x01)])

/** Bodies that are taken, and that once stopped whatever folds or stores them, or held it for minutes. */
const bodies: Readonly<Record<string, (message: string) => Json | Buffer>> = {
  'a line in text that is nested thousands deep, with a number that is no double': (message) =>
    inText(message, `"n":12345678901234567890,"deep":${'['.repeat(9_000)}${']'.repeat(9_000)}`),
  'a line in text with a number of 60,000 digits': (message) => inText(message, `"n":${'7'.repeat(60_000)}`),
  'half a million marks upon one letter': (message) => ({ message, marked: `e${'\u0301\u0316'.repeat(250_000)}` }),
  'halves of characters and control characters, as long as a record may be, wherever a name may stand': (message) => {
    const odd = '\ud800\u0000\u0085.'.repeat(15_000)
    const ids = { trace_id: '5b8efff798038103d269b633813fc60c', session_id: '\ud800\u0001'.repeat(64) }
    return { message, ...ids, service: odd, level: odd, source: odd, [odd]: { [odd]: [odd] } }
  },
  'keys that are maps whose keys are maps, of MessagePack': keysInKeys,
  'a line of JSON cut off in the middle, whose level is a name that each object has': (message) => ({
    message: `{"level":"constructor","msg":"${message}`,
  }),
}

describe('a record as strange as it may be', () => {
  let server: LentServer
  let reader: Reader
  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  })
  after(() => server.giveBack())

  for (const [index, [name, bodyOf]] of Object.entries(bodies).entries()) {
    it(`is found all the same: ${name}`, async () => {
      const message = `strangest${index}`
      const made = bodyOf(message)
      const [body, type] = Buffer.isBuffer(made) ? [made, 'msgpack'] : [stringifyJson(made), 'json']
      const headers = { 'content-type': `application/${type}` }
      const sent = await post(server, '/api/logs/v1/ingest', server.firstRun.keys.logs, body, headers)
      expect(sent.status).to.equal(200)
      await untilIndexed(server)
      const found = await answerOf(reader, `/api/app/logs/search?q=${message}`)
      expect(at(found, 'logs', '0', 'message')).to.include(message)
    })
  }
})
