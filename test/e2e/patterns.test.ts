import { expect } from 'chai'
import { borrowChromium, closeTabs, onEachScreen } from '../support/browser.ts'
import { signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { linksOfPage } from '../support/page-links.ts'
import { createTenant } from '../support/tenant.ts'
import { sendingTo } from '../support/workspace.ts'

const counted = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n))

/** Messages by the pattern that they are shown by. */
const given: Readonly<Record<string, readonly string[]>> = {
  '<ip> - - [<time>] "GET <*> HTTP/<num>" <num> <num> "<text>" "<text>"': counted(
    40,
    (n) =>
      `10.0.0.${n} - - [10/Oct/2026:13:55:${10 + n} -0700] "GET /${'abcd'.charAt(n % 4)}/${n} HTTP/1.1" 200 ${n * 7} "-" "curl/8.${n}"`,
  ),
  'java.lang.IllegalStateException: card <num> declined': counted(
    30,
    (n) => `java.lang.IllegalStateException: card ${n} declined\n\tat com.acme.Pay.charge(Pay.java:${n})`,
  ),
  'duration: <num> ms statement: SELECT <num>': counted(20, (n) => `duration: ${n}.5 ms  statement: SELECT ${n}`),
  '订单<num>支付失败': counted(10, (n) => `订单${n}支付失败`),
  'user <*> logged in': ['user Müller logged in', 'user \u202eann logged in'],
  'out of memory': ['out of memory'],
  'no text': [''],
}

describe('patterns of logs', () => {
  let server: LentServer
  let mine: Reader
  let theirs: Reader

  before(async () => {
    server = await borrowServer()
    const other = await createTenant(server, `of-theirs-${server.firstRun.workspace}`, 'pro')
    mine = await signIn(server.baseUrl, server.firstRun.sign_in)
    theirs = await signIn(server.baseUrl, other.sign_in)
    const messages = Object.values(given).flat()
    await sendingTo(server, server.firstRun.keys).logs(messages.map((message) => ({ message, service: 'of-patterns' })))
    await sendingTo(server, other.keys).logs([{ message: 'user eve logged in', service: 'of-patterns' }])
    await untilIndexed(server)
  })
  after(() => server.giveBack())

  const rowsOn = async (reader: Reader, address: string) => {
    const response = await reader.raw(address)
    expect(response.status, address).to.equal(200)
    const text = await response.text()
    return [...text.matchAll(/<tr class="\w+">([^]*?)<\/tr>/g)].map(([, row = '']) => linksOfPage(row))
  }
  const messagesFound = async (address: string): Promise<readonly string[]> => {
    const response = await mine.raw(`${address.replace('/app/logs', '/api/app/logs/search')}&limit=1000`)
    const { logs } = (await response.json()) as Readonly<{ logs: readonly Readonly<{ message: string }>[] }>
    return logs.map(({ message }) => message)
  }

  it('lead to all records of each and leave out no other, on every engine', async () => {
    const rows = await rowsOn(mine, '/app/patterns?service=of-patterns')
    const names = rows.map(([only]) => only?.name)
    expect(names.slice(0, 5)).to.deep.equal(Object.keys(given).slice(0, 5))
    expect(names).to.have.members(Object.keys(given))
    for (const [only, ...links] of rows) {
      const { name = '', address = '' } = only ?? {}
      expect(await messagesFound(address), name).to.include.members([...(given[name] ?? [])])
      const leaveOut = links.find((link) => link.name.startsWith('Leave out: '))
      if (leaveOut === undefined) continue
      const left = await rowsOn(mine, leaveOut.address)
      expect(
        left.map(([other]) => other?.name),
        leaveOut.name,
      ).to.have.members(names.filter((each) => each !== name))
    }
  })

  it('stand beside services of whole words, whatever the screen', async () => {
    const browser = await borrowChromium()
    await sendingTo(server, server.firstRun.keys).logs([{ message: 'of words '.repeat(90), service: 'of-payments' }])
    await untilIndexed(server)
    await onEachScreen(browser, server, async (tab, width) => {
      await tab.goto('/app/patterns?service=of-payments')
      const name = tab.locator('.patterns td[data-head=Service] div')
      // The tops of its lines.
      const tops = await name.evaluate((element) => {
        const range = element.ownerDocument.createRange()
        range.selectNodeContents(element)
        return [...range.getClientRects()].map(({ top }) => top)
      })
      expect(new Set(tops).size, `${width} px`).to.equal(1)
    })
    await closeTabs(browser)
  })

  it('are those of one workspace', async () => {
    const [row = []] = await rowsOn(theirs, '/app/patterns?service=of-patterns')
    expect(row.map(({ name }) => name)[0]).to.equal('user eve logged in')
  })
})
