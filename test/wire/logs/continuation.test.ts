import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const receivedAt = Date.parse('2026-11-30T15:00:00Z')
const first = '2026-11-30T14:40:01.123Z'
const next = '2026-11-30T14:40:02.123Z'
const timesOf = (lines: readonly string[]): readonly (string | null)[] =>
  decodeLogs(Buffer.from(lines.join('\n')), 'text/plain', { receivedAt, limits }).map(({ timeNs }) => {
    const ms = Number(timeNs / 1_000_000n)
    return ms === receivedAt ? null : new Date(ms).toISOString()
  })

/** What programs print of an error, behind the line that says it. */
const traces: Readonly<Record<string, readonly string[]>> = {
  Java: ['java.lang.IllegalStateException: closed', '\tat com.acme.Shop.pay(Shop.java:7)', 'Caused by: java.io.IOException', '\t... 12 more'],
  Python: ['Traceback (most recent call last):', '  File "pay.py", line 7, in pay', '    charge()', 'shop.errors.DeclinedError: order 7'],
  PHP: ['Stack trace:', '#0 /srv/shop/index.php(7): pay()', '#1 {main}', '  thrown in /srv/shop/pay.php on line 7'],
  Go: ['goroutine 1 [running]:', '\t/srv/shop/pay.go:7 +0x1d'],
  'Node.js': ['TypeError: x is undefined', '    at pay (/srv/shop/pay.js:7:1)'],
} // prettier-ignore

describe('a line of text that goes on with the one before', () => {
  for (const [runtime, lines] of Object.entries(traces)) {
    it(`is of its time: a trace of ${runtime}`, () => {
      const all = timesOf([`${first} ERROR declined`, ...lines, `${next} INFO up`])
      expect(all).to.deep.equal([first, ...lines.map(() => first), next])
    })
  }

  it('may go on behind what was put before a line', () => {
    expect(timesOf([`<11>1 ${first} web-1 shop 7 - - declined`, '\tat a.b'])).to.deep.equal([first, first])
    expect(timesOf([`${first} ERROR 7 --- [main] c.e.Shop : declined`, '\tat a.b'])).to.deep.equal([first, first])
  })

  it('is of the time of arrival behind a line that tells none, or where there is none', () => {
    expect(timesOf(['\tat a.b', 'up', '\tat a.b'])).to.deep.equal([null, null, null])
    expect(timesOf([`${first} ERROR declined`, 'up', '\tat a.b'])).to.deep.equal([first, null, null])
    expect(timesOf([`${first} ERROR declined`, '2026-11-30 14:40:02,123 ERROR x', '\tat a.b'])).to.deep.equal([first, null, null]) // prettier-ignore
  })

  it('is of PostgreSQL, which tells the time and no level', () => {
    const lines = ['ERROR:  syntax error', 'DETAIL:  x', 'HINT:  x', 'CONTEXT:  x', 'STATEMENT:  SELECT', 'DEBUG1:  x']
    const time = '2026-11-30 14:40:01.123 UTC [7]'
    expect(timesOf([...lines.map((line) => `${time} ${line}`), '\tFROM x'])).to.deep.equal(Array(7).fill(first))
    expect(timesOf([`${time}: [3-1] user=app,db=shop STATEMENT:  SELECT`])).to.deep.equal([first])
  })
})
