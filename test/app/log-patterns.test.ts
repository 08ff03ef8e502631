import { expect } from 'chai'
import { patternsOf } from '#src/app/search/patterns/log-patterns.ts'
import { shapeOf } from '#src/app/search/patterns/message-shape.ts'
import { clauseOfPattern, clauseWithout, phrasesOf, sayableOf } from '#src/app/search/patterns/pattern-clause.ts'
import { found, readerOf } from '#test/projections/logs/given.ts'
import { describeOnEveryStore } from '#test/projections/traces/every-store.ts'
import { createRandom, type Random } from '#test/support/random.ts'

const sayingOf = (messages: readonly string[]) =>
  messages.map((message) => ({ given: message, shape: shapeOf(message), ...sayableOf(message) }))

const countsOf = async (messages: readonly string[]): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries((await patternsOf(sayingOf(messages))).map(({ text, said }) => [text, said.length]))

const times = (count: number, make: (n: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, n) => make(n))

describe('patterns of messages', () => {
  it('are those of one shape, the most frequent first', async () => {
    const messages = ['ready', ...times(3, (n) => `order ${n} paid`), ...times(2, (n) => `order ${n} refused`), '']
    const patterns = await patternsOf(sayingOf(messages))
    expect(patterns.map(({ text, said }) => [text, said.length])).to.deep.equal([
      ['order <num> paid', 3],
      ['order <num> refused', 2],
      ['', 1],
      ['ready', 1],
    ])
    expect(patterns[0]?.said.map(({ given }) => given)).to.deep.equal(['order 0 paid', 'order 1 paid', 'order 2 paid'])
  })

  it('have a placeholder where messages of one length and beginning differ', async () => {
    expect(await countsOf(['user alice logged in', 'user bob logged in'])).to.deep.equal({ 'user <*> logged in': 2 })
    expect(
      await countsOf(['user ann of acme logged in from berlin', 'user bob of acme logged in from oslo']),
    ).to.deep.equal({ 'user <*> of acme logged in from <*>': 2 })
    expect(
      await countsOf(
        ['info', 'info', 'warn'].map((level, n) => `level=${level} msg="order paid" user=${'abc'.charAt(n)}`),
      ),
    ).to.deep.equal({ 'level=info msg="order paid" user=<*>': 2, 'level=warn msg="order paid" user=c': 1 })
    const requests = ['/cart', '/pay', '/'].map((path) => `10.0.0.7 - - "GET ${path} HTTP/1.1" 200 5 "-" "curl"`)
    expect(await countsOf(requests)).to.deep.equal({
      '<ip> - - "GET <*> HTTP/<num>" <num> <num> "<text>" "<text>"': 3,
    })
  })

  it('are several where messages have little in common', async () => {
    const several = [
      'user logged in',
      'user logged out',
      'connection opened',
      'connection closed',
      'order 7 paid',
      'order 8 lost',
    ]
    expect(Object.values(await countsOf(several))).to.deep.equal([1, 1, 1, 1, 1, 1])
    const logfmt = (msg: string): string => `time=2026-11-21T12:00:00Z level=INFO msg="${msg}" took=7ms id=8`
    expect(Object.keys(await countsOf(['order paid', 'user created'].map(logfmt)))).to.have.length(2)
    expect(Object.keys(await countsOf(['a b c d e f', 'a x y z e f']))).to.have.length(2)
  })

  it('are one of short messages where one word of them is many', async () => {
    const names = ['ann', 'bob', 'cid', 'dan', 'eve', 'fay', 'gus']
    expect(Object.keys(await countsOf(names.map((name) => `welcome ${name}`)))).to.have.length(7)
    expect(await countsOf([...names, 'hal'].map((name) => `welcome ${name}`))).to.deep.equal({ 'welcome <*>': 8 })
  })

  it('are one where a search does not tell messages apart: by capitals, and by how letters are composed', async () => {
    const messages = ['connection refused', 'Connection refused', 'Connection refused', 'CONNECTION REFUSED']
    const [refused, ...others] = await patternsOf(sayingOf(messages))
    expect([refused?.text, refused?.said.length, others]).to.deep.equal(['Connection refused', 4, []])
    const letters = ['\u00e9t\u00e9 4', 'e\u0301te\u0301 5', 'ΣΑΣ 3', 'σας 4']
    expect(Object.values(await countsOf(letters))).to.deep.equal([2, 2])
    expect(await countsOf(['read <NUM> rows', 'read 5 rows'])).to.deep.equal({
      'read <NUM> rows': 1,
      'read <num> rows': 1,
    })
  })

  it('are the same in whatever order messages come, and count each once', async () => {
    const random = createRandom(7)
    for (let round = 0; round < 10; round++) {
      const messages = times(200, () => messageOf(random))
      const counts = await countsOf(messages)
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).to.equal(messages.length)
      expect(await countsOf(messages.toReversed())).to.deep.equal(counts)
    }
  })
})

describe('what a search says of a pattern', () => {
  it('is its phrases, without the rest of a word that varies', () => {
    expect(phrasesOf('user <*> logged in from <ip>:<num>')).to.deep.equal(['user', 'logged in from'])
    expect(phrasesOf('v1.<num> took<num>ms of_<id>_x é<num>ü:')).to.deep.equal(['v1.', 'of_', '_x'])
    expect(phrasesOf('<num> - <num>')).to.deep.equal([])
    expect(phrasesOf('')).to.deep.equal([])
    expect(phrasesOf('a\u202eb\0c <num>')).to.deep.equal(['a b c'])
  })

  it('is no more than an address bears', () => {
    for (const word of ['word ', 'word', '支', '支付 ', 'é', '\u0301', '<num> a '])
      expect(phrasesOf(word.repeat(300)).join('').length, word).to.be.at.most(720)
  })

  it('is the message itself where nothing varies, and then it can be left out too', () => {
    const one = { text: 'Ready: all', said: sayingOf(['Ready: all', 'ready: ALL']) }
    expect(clauseOfPattern(one)).to.equal('message="Ready: all"')
    expect(clauseWithout(one, undefined)).to.equal('message!="Ready: all"')
    const empty = { text: '', said: sayingOf(['', ' ']) }
    expect([clauseOfPattern(empty), clauseWithout(empty, [])]).to.deep.equal(['message=""', undefined])
    const lines = { text: 'failed', said: sayingOf(['failed\nat x']) }
    expect([clauseOfPattern(lines), clauseWithout(lines, undefined)]).to.deep.equal(['message:failed', undefined])
  })

  it('leaves out what varies only where all others were read, and none of them is meant', () => {
    const paid = { text: 'order <num> paid', said: sayingOf(['order 1 paid']) }
    const not = 'NOT (message:order AND message:paid)'
    expect(clauseWithout(paid, undefined)).to.equal(undefined)
    expect(clauseWithout(paid, sayingOf(['order 1 lost', 'unpaid order']))).to.equal(not)
    expect(clauseWithout(paid, sayingOf(['paid late: the order of Ann']))).to.equal(undefined)
    expect(clauseWithout(paid, sayingOf(['order 1 lost\nat paid']))).to.equal(undefined)
  })
})

const parts = [
  ...['user', 'ann', 'Bob', 'logged', 'in', 'from', 'order', 'paid', 'GET', '/api/v1/orders', 'level=info', 'user=ann'],
  ...[
    '7',
    '-5',
    '1.5',
    '12ms',
    '10.0.0.7:80',
    '2026-11-21T12:00:00Z',
    '12:00',
    'deadbee1',
    'x7k2p',
    'v1.2.3',
    'node12',
  ],
  ...[
    '"a b"',
    "'x'",
    '`q`',
    '"k":',
    '"GET / HTTP/1.1"',
    '订单',
    '支付失败',
    'ไทย',
    'Müller',
    'e\u0301',
    '\u0301',
    '\u202e',
    '\u200d',
  ],
  ...[
    '<num>',
    '<*>',
    '<',
    '>',
    '*',
    '?',
    '\\',
    '(',
    ')',
    'AND',
    'NOT',
    '-',
    '=',
    ':',
    '|',
    '\0',
    '\u001b[31m',
    '\u001b[3',
    '\ud800',
  ],
  ...[
    '\ud83d\ude00',
    'ΌΣΟΣ',
    'İ',
    'ﬁ',
    '\n',
    '\r\n',
    '\t',
    '\u00a0',
    'x'.repeat(70),
    'y z '.repeat(400),
    '_',
    '٣',
    '½',
  ],
]
const signs = ['', '', '', ' ', ' ', ' ', ' ', '=', ':', '-', '_', '/', ', ', '\u0301', '"']

/** A message of few words, so that many are alike. */
function messageOf(random: Random): string {
  const few = parts.slice(random.below(parts.length - 8)).slice(0, 8)
  const length = 1 + random.below(8)
  return times(length, () => random.pick(random.chance(0.8) ? few : parts) + random.pick(signs)).join('')
}

const seed = Number(process.env['SEED'] ?? 1)

describeOnEveryStore('the records of a pattern', (newStore) => {
  it(`are all found by the search that it leads to, and left out by the other alone (SEED=${seed})`, async () => {
    const random = createRandom(seed)
    for (let round = 0; round < 4; round++) {
      const messages = times(100, () => messageOf(random))
      const reader = await readerOf(
        newStore,
        messages.map((message) => ({ message })),
      )
      const said = sayingOf(messages)
      for (const pattern of await patternsOf(said)) {
        const own = new Set(pattern.said)
        const others = said.filter((each) => !own.has(each))
        const placesOf = (of: ReadonlySet<unknown>): readonly number[] =>
          said.flatMap((each, at) => (of.has(each) ? [at] : []))
        const [only, without] = [clauseOfPattern(pattern), clauseWithout(pattern, others)]
        if (only !== undefined)
          expect(await found(reader, only), `${only} of ${pattern.text}`).to.include.members(placesOf(own))
        if (without !== undefined)
          expect(await found(reader, without), `${without} of ${pattern.text}`).to.have.members(
            placesOf(new Set(others)),
          )
      }
    }
  })
})
