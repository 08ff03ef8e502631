import { expect } from 'chai'
import { answerOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { createRandom } from '../support/index-fixture.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { createTenant, type Tenant } from '../support/tenant.ts'
import { sendingTo } from '../support/workspace.ts'

const words = 500
/** More than could come between by chance where searches wait for each other. */
const quickMax = 5
const wordLength = 100
/** Milliseconds of work for each of the words: each of their letters leads to a place where the expression was not before. */
const slow = '/(.*[a-d].{60}q|.*[c-f].{60}q|.*[e-h].{60}q)/'

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

  const quickOf = async (reader: Reader): Promise<number> =>
    listOf(await answerOf(reader, '/api/app/logs/search?q=quick'), 'logs').length

  /** How many quick searches are answered, one after the other, before any of the slow ones is. */
  async function quickBeside(reader: Reader, slowOnes: number): Promise<number> {
    const slowSearch = { isAnswered: false }
    const asked = Array.from({ length: slowOnes }, async (_, n) => {
      const path = `/api/app/logs/search?q=${encodeURIComponent(slow)}&limit=${n + 1}`
      expect(listOf(await answerOf(mine, path), 'logs')).to.deep.equal([])
      slowSearch.isAnswered = true
    })
    let answered = 0
    while (!slowSearch.isAnswered && answered < quickMax) {
      expect(await quickOf(reader)).to.equal(1)
      if (!slowSearch.isAnswered) answered++
    }
    await Promise.all(asked)
    return answered
  }

  it('lets other searches of its workspace go on', async () => {
    expect(await quickBeside(mine, 1)).to.equal(quickMax)
  })

  it('is refused where it would be slower by far', async () => {
    const many = Array.from({ length: 30 }, (_, n) => slow.replaceAll('q', `q${n}`)).join(' OR ')
    const { status, body } = await mine.get(`/api/app/logs/search?q=${encodeURIComponent(many)}`)
    expect([status, body['code']]).to.deep.equal([400, 'query_too_broad'])
  })

  it('lets other workspaces search, however many there are of it', async () => {
    expect(await quickBeside(theirs, 6)).to.equal(quickMax)
  })
})
