import { expect } from 'chai'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { createRandom } from '../support/random.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { sendingTo } from '../support/workspace.ts'

const words = 500
/** More than could come between by chance where searches wait for each other. */
const quickMax = 5
const wordLength = 100
/**
 * Milliseconds of work for each of the words: each of their letters leads to a place where the expression was not before. Each is another one, because
 * what one has met is remembered.
 */
let slowMade = 0
function newSlow(): string {
  const end = `{60}q${slowMade++}`
  return `/(.*[a-d].${end}|.*[c-f].${end}|.*[e-h].${end})/`
}

const letters = 'abcdefgh'.split('')
const random = createRandom(1)
const newWord = (): string => Array.from({ length: wordLength }, () => random.pick(letters)).join('')

describe('a slow search', () => {
  let server: LentServer
  let mine: Reader
  let theirs: Reader
  let other: Tenant

  before(async () => {
    server = await borrowServer()
    other = await createTenant(server, 'beside', 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    theirs = await signIn(server.baseUrl, other.sign_in)
    await sendingTo(server, server.firstRun.keys).logs([
      { message: 'quick' },
      ...Array.from({ length: words }, () => ({ message: newWord() })),
    ])
    await sendingTo(server, other.keys).logs([{ message: 'quick' }])
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  /** An answer of which nothing but its head has been read: a body may be late on the way, and says nothing of when it was made. */
  async function headOf(reader: Reader, path: string) {
    const answer = await reader.raw(path)
    const found = async (): Promise<number> => {
      expect(answer.status, path).to.equal(200)
      return listOf(parseJson(await answer.text()) as JsonObject, 'logs').length
    }
    return { status: answer.status, found }
  }

  /** How many quick searches are answered, one after the other, before any of the slow ones is. */
  async function quickBeside(reader: Reader, slowOnes: number): Promise<number> {
    const slowSearch = { isAnswered: false }
    const asked = Array.from({ length: slowOnes }, async () => {
      const path = `/api/app/logs/search?q=${encodeURIComponent(newSlow())}&limit=1`
      let answer = await headOf(mine, path)
      // More than have room at once: on a busy machine some are told to come back.
      while (answer.status === 429) answer = await headOf(mine, path)
      slowSearch.isAnswered = true
      expect(await answer.found()).to.equal(0)
    })
    let answered = 0
    const bodies: Promise<number>[] = []
    while (!slowSearch.isAnswered && answered < quickMax) {
      const answer = await headOf(reader, '/api/app/logs/search?q=quick')
      if (!slowSearch.isAnswered) answered++
      bodies.push(answer.found())
    }
    expect(new Set(await Promise.all(bodies))).to.deep.equal(new Set([1]))
    await Promise.all(asked)
    return answered
  }

  it('lets other searches of its workspace go on', async () => {
    expect(await quickBeside(mine, 1)).to.equal(quickMax)
  })

  it('is refused where it would be slower by far', async () => {
    const many = Array.from({ length: 30 }, newSlow).join(' OR ')
    const { status, body } = await mine.get(`/api/app/logs/search?q=${encodeURIComponent(many)}`)
    expect([status, body['code']]).to.deep.equal([400, 'query_too_broad'])
    const phrase = `quick "${'a '.repeat(2_000)}"`
    const refused = await mine.get(`/api/app/logs/search?q=${encodeURIComponent(phrase)}`)
    expect([refused.status, refused.body['code'], refused.body['position']]).to.deep.equal([400, 'query_syntax', 6])
  })

  it('lets other workspaces search, however many there are of it', async () => {
    expect(await quickBeside(theirs, 6)).to.equal(quickMax)
  })
})
