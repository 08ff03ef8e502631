import { expect } from 'chai'
import { TooBroadError, type IndexReader } from '#projections/index-store.ts'
import { describeOnEveryStore } from '#test/projections/traces/every-store.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { found, readerOf } from './given.ts'

const messages = [
  'connection_timeout_ms=500 exceeded',
  'GET /api/v1/orders?id=7 500',
  'java.lang.NullPointerException at com.acme.Foo',
  'peer 10.0.0.7:5432 refused',
  'order 9f1c2d3e-0000-4000-8000-aabbccddeeff paid',
  'Zahlung für Müller fehlgeschlagen',
  '支付失败 order=12',
  'user logged in',
]

/** The query, and the places in `messages` that it finds. */
const contract: readonly (readonly [query: string, places: readonly number[]])[] = [
  ['timeout', [0]],
  ['orders', [1]],
  ['/api/v1/orders', [1]],
  ['"v1 orders"', [1]],
  ['/api/v1/orders?id=7', [1]],
  ['NullPointerException', [2]],
  ['nullpointer*', [2]],
  ['nullpointer', []],
  ['com.acme.foo', [2]],
  ['com.acme.*', [2]],
  ['com.acme.f*', [2]],
  ['com.foo', []],
  ['10.0.0.7', [3]],
  ['5432', [3]],
  ['"10.0.0.7:5432"', [3]],
  ['10.0.0.7:5432', [3]],
  ['10.0.0.8', []],
  ['9f1c2d3e-0000-4000-8000-aabbccddeeff', [4]],
  ['9F1C2D3E', [4]],
  ['müller', [5]],
  ['FÜR', [5]],
  ['muller', []],
  ['"für müller"', [5]],
  ['"müller für"', []],
  ['支付', [6]],
  ['失败', [6]],
  ['付支', []],
  ['log', []],
  ['log*', [7]],
  ['order', [4, 6]],
  ['order paid', [4]],
  ['order -paid', [6]],
  ['"order paid"', []],
  ['timeout OR müller', [0, 5]],
  ['500', [0, 1]],
  ['/time.*/', [0]],
  ['/.*time.*/', [0]],
  ['/[0-9]{4}/', [3, 4]],
  ['t?meout', [0]],
  ['*xception', [2]],
  ['null*exception', [2]],
  ['NOT order NOT 500', [2, 3, 5, 7]],
  ['message:timeout', [0]],
  ['message:"v1 orders"', [1]],
  ['message:null*', [2]],
  ['message:/.*pointer.*/', [2]],
  ['message="user logged in"', [7]],
  ['message=user', []],
  ['message!="user logged in"', [0, 1, 2, 3, 4, 5, 6]],
  ['message:*', [0, 1, 2, 3, 4, 5, 6, 7]],
  ['source:logs user', [7]],
  ['source:rum', []],
]

const records: readonly Partial<LogRecord>[] = [
  {
    message: 'a',
    fields: { status: 500, path: '/api/v1/orders', tags: ['red', 'dark blue'], user: { id: 7, name: 'Ann' } },
  },
  { message: 'b', fields: { status: '500', path: '/api/v1/orders/7', tags: ['green'], user: { name: 'Bob Ann' } } },
  { message: 'c', fields: { status: 404.5, path: '/health', big: 9_007_199_254_740_993n, took: -5, ok: true } },
  { message: 'd', fields: { status: 'x 500 y', big: 9_007_199_254_740_992, tags: [], gone: null, ok: false } },
  { message: 'e', level: 'warn', service: 'checkout-api', fields: { level: 40, app: 'checkout-api', note: '' } },
  {
    message: 'f',
    level: 'error',
    service: 'checkout',
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    fields: { service: 'checkout' },
  },
  { message: 'seven words', fields: { msg: 'seven words', '@m': 'seven words', body: 'other', 'http.status': 200 } },
  {
    message: 'eight',
    sessionId: 'S-1',
    spanId: '00f067aa0ba902b7',
    fields: { http: { status: 201 }, 'a b': 'x y', '@timestamp': 't0' },
  },
]

const byField: readonly (readonly [query: string, places: readonly number[]])[] = [
  // `f:500` equals `f:"500"`, and numbers in text are text.
  ['status:500', [0, 1, 3]],
  ['status:"500"', [0, 1, 3]],
  ['status=500', [0, 1]],
  ['status="500"', [0, 1]],
  ['status:500.0', [0]],
  ['status!=500', [2, 3, 4, 5, 6, 7]],
  ['-status:500', [2, 4, 5, 6, 7]],
  ['status:404', []],
  ['status:404.5', [2]],
  // Only numeric values are compared.
  ['status>400', [0, 2]],
  ['status:>=500', [0]],
  ['status:<500', [2]],
  ['status:[404 TO 500]', [0, 2]],
  ['status:{404.5 TO 500}', []],
  ['status:[404.5 TO 500}', [2]],
  ['status:[* TO *]', [0, 2]],
  ['took:<0', [2]],
  ['took:-5', [2]],
  ['took:5', []],
  ['user.id:-7', []],
  ['took=-5', [2]],
  ['big:>9007199254740992', [2]],
  ['big:>=9007199254740992', [2, 3]],
  ['big:<9007199254740993', [3]],
  ['big:9007199254740993', [2]],
  ['big=9007199254740992', [3]],
  // Words, phrases, and values each by itself.
  ['path:orders', [0, 1]],
  ['path:/api/v1/orders', [0, 1]],
  ['path=/api/v1/orders', [0]],
  ['path:"v1 orders 7"', [1]],
  ['path:/api/*', [0, 1]],
  ['path:/api/*/orders', [0]],
  ['path:/api/*/orders*', [0, 1]],
  ['path:*orders', [0, 1]],
  ['path:/\\/api\\/v[0-9]+\\/orders/', [0]],
  ['path:/ord.*/', [0, 1]],
  ['path:heal*', [2]],
  ['path:h?alth', [2]],
  ['path:h*h', [2]],
  ['tags:red', [0]],
  ['tags:blue', [0]],
  ['tags:"dark blue"', [0]],
  ['tags:"red dark"', []],
  ['tags:(red AND blue)', [0]],
  ['tags=blue', []],
  ['tags="Dark Blue"', [0]],
  ['tags:dark\\ b?ue', [0]],
  ['tags!=red', [1, 2, 3, 4, 5, 6, 7]],
  ['-tags:blue', [1, 2, 3, 4, 5, 6, 7]],
  ['tags:*', [0, 1]],
  ['NOT tags:*', [2, 3, 4, 5, 6, 7]],
  ['gone:*', []],
  ['note:*', [4]],
  ['note=""', [4]],
  // Nested and dotted names, quoted names, `@`.
  ['user.name:ann', [0, 1]],
  ['user.name=ann', [0]],
  ['user.id:7', [0]],
  ['user:*', [0, 1]],
  ['http.status:[200 TO 299]', [6, 7]],
  ['http:*', [6, 7]],
  ['"a b":x', [7]],
  ['@timestamp:t0', [7]],
  ['timestamp:t0', [7]],
  ['@user.name:bob', [1]],
  ['USER.NAME:BOB', [1]],
  ['ok:true', [2]],
  ['ok=false', [3]],
  // Bare words look into string values, not over their borders, and not into names and numbers.
  ['green', [1]],
  ['"dark blue"', [0]],
  ['"red dark"', []],
  ['"blue ann"', []],
  ['ann', [0, 1]],
  ['user', []],
  // What was understood of a record: level, service, ids.
  ['level:warn', [4]],
  ['level:WARNING', [4]],
  ['level:40', [4]],
  ['level>=warn', [4, 5]],
  ['level:[trace TO warn]', [4]],
  ['level:err*', [5]],
  ['level!=error', [0, 1, 2, 3, 4, 6, 7]],
  ['service:checkout', [4, 5]],
  ['service=checkout', [5]],
  ['service=CHECKOUT', [5]],
  ['service:check*', [4, 5]],
  ['service:checkout-a*', [4]],
  ['service:*', [4, 5]],
  ['trace_id:4bf92f3577b34da6a3ce929d0e0e4736', [5]],
  ['trace_id=4BF92F35-77b3-4da6-a3ce-929d0e0e4736', [5]],
  ['traceId:4bf92f3577b34da6a3ce929d0e0e4736', [5]],
  ['trace_id:4bf9*', [5]],
  ['span_id:00F067AA0BA902B7', [7]],
  ['session_id:s-1', [7]],
  ['session_id="S-1"', [7]],
  // The field that the message came from is found by its own name too.
  ['msg:seven', [6]],
  ['msg:"seven words"', [6]],
  ['msg="Seven Words"', [6]],
  ['msg:sev*', [6]],
  ['msg:/s.*n/', [6]],
  ['msg:*', [6]],
  ['@m:seven', [6]],
  ['m:"seven words"', [6]],
  ['m="Seven Words"', [6]],
  ['m:sev*', [6]],
  ['m:*', [6]],
  ['body:seven', []],
  ['body:other', [6]],
]

const unspaced = [
  '用户支付失败',
  '支付成功 订单abc确认',
  '订单 失败',
  'xabc支 付',
  'ประเทศไทย',
  '会員登録エラーid7で失敗',
  '支',
]

/** Wildcards beside characters that are words by themselves: in messages and in values of a field alike. */
const wildUnspaced: readonly (readonly [query: string, places: readonly number[]])[] = [
  ['*支付*', [0, 1, 3]],
  ['*支*', [0, 1, 3, 6]],
  ['*用户*', [0]],
  ['支付*', [0, 1, 3]],
  ['用户*', [0]],
  ['用户支*', [0]],
  ['*付失败*', [0]],
  ['*付支*', []],
  ['*单abc*', [1]],
  ['*单ab*', [1]],
  ['*单bc*', []],
  ['xabc支*', [3]],
  ['*ไทย*', [4]],
  ['*เทศ*', [4]],
  ['*เทย*', []],
  ['*登録*', [5]],
  ['*エラーid*', [5]],
  ['-*支付*', [2, 4, 5, 6]],
]

/** In messages, since they are of several words; over the whole value of a field. */
const wildWithin: readonly (readonly [query: string, inMessage: readonly number[], inField: readonly number[]])[] = [
  ['支*败', [0], []],
  ['用*败', [0], [0]],
  ['用?支付*', [0], [0]],
  ['*失败', [0, 2], [0, 2]],
  ['*支付', [0, 1, 3], []],
  ['?支付*', [0, 1, 3], []],
  ['订*abc*', [1], []],
  ['*bc支*', [1, 3], [3]],
  ['*bc?认', [1], [1]],
  ['会*失敗', [5], [5]],
  ['ประ*ไทย', [4], [4]],
]

describeOnEveryStore('projections/logs: what a search finds', (newStore) => {
  let lines: IndexReader
  let fields: IndexReader
  before(async () => {
    lines = await readerOf(
      newStore,
      messages.map((message) => ({ message })),
    )
    fields = await readerOf(newStore, records)
  })

  for (const [query, places] of contract) {
    it(`in messages: ${query}`, async () => expect(await found(lines, query)).to.deep.equal(places))
  }
  for (const [query, places] of byField) {
    it(`in fields: ${query}`, async () => expect(await found(fields, query)).to.deep.equal(places))
  }

  it('finds the same words in a value as in a message', async () => {
    const reader = await readerOf(
      newStore,
      messages.map((value) => ({ fields: { note: value } })),
    )
    for (const [query, places] of contract.filter(([query]) => !/message|source|NOT/.test(query))) {
      expect(await found(reader, query), query).to.deep.equal(places)
      if (/^[\w.*?]+$/.test(query)) expect(await found(reader, `note:${query}`), `note:${query}`).to.deep.equal(places)
    }
  })

  it('finds wildcards in scripts without blanks', async () => {
    const inMessages = await readerOf(
      newStore,
      unspaced.map((message) => ({ message })),
    )
    const inValues = await readerOf(
      newStore,
      unspaced.map((note) => ({ message: 'm', fields: { note } })),
    )
    const inField = (query: string): string => query.replace(/^-?/, '$&note:')
    for (const [query, inMessage, inValue] of [
      ...wildUnspaced.map(([query, places]) => [query, places, places] as const),
      ...wildWithin,
    ]) {
      expect(await found(inMessages, query), query).to.deep.equal(inMessage)
      expect(await found(inMessages, query.replace(/^-?/, '$&message:')), `message:${query}`).to.deep.equal(inMessage)
      expect(await found(inValues, query), `${query} in a value`).to.deep.equal(inMessage)
      expect(await found(inValues, inField(query)), inField(query)).to.deep.equal(inValue)
    }
  })

  it('finds what a value has anywhere, however long it is, and however many such values there are', async () => {
    const note = (n: number): string => `${n}${'长'.repeat(100)}支付失败`
    const reader = await readerOf(
      newStore,
      Array.from({ length: 1_001 }, (_, n) => ({ fields: { note: note(n) } })),
    )
    expect(await found(reader, 'note:*支付* note:999长*')).to.deep.equal([999])
  })

  it('does not take the time of a log for text: a number is found where somebody wrote it', async () => {
    const iso = '2026-11-21T12:34:56.789Z'
    const reader = await readerOf(newStore, [
      { message: 'order 11', fields: { timestamp: iso } },
      { fields: { ts: 1_795_262_400.5, n: 2026 } },
      { fields: { '@timestamp': iso, date: iso } },
      { fields: { time: 'noon', timestamp: 'lunch', note: iso } },
      { fields: { event: { timestamp: iso } } },
    ])
    for (const [query, places] of [
      ['11', [0, 2, 3, 4]],
      ['"21t12 34"', [2, 3, 4]],
      [iso, [2, 3, 4]],
      ['timestamp:11', []],
      [`timestamp="${iso}"`, []],
      ['ts>0', []],
      ['date:11', [2]],
      [`date="${iso}"`, [2]],
      ['time:noon', [3]],
      ['timestamp=lunch', [3]],
      ['event.timestamp:11', [4]],
      // That a log has the field is known all the same.
      ['timestamp:*', [0, 2, 3]],
      ['ts:*', [1]],
      ['NOT ts:*', [0, 2, 3, 4]],
      ['n:2026', [1]],
    ] as const) {
      expect(await found(reader, query), query).to.deep.equal(places)
    }
  })

  it('refuses a pattern that meets more than 1,000 words, and takes a prefix that does', async () => {
    const reader = await readerOf(newStore, [
      { message: Array.from({ length: 1_100 }, (_, index) => `word${index}x`).join(' ') },
    ])
    const tooBroad = await found(reader, 'w*x').catch((error: unknown) => error)
    expect(tooBroad).to.be.instanceOf(TooBroadError)
    expect(await found(reader, 'word*')).to.deep.equal([0])
    expect(await found(reader, '/word10.x/')).to.deep.equal([0])
  })

  it('stands hostile records: names and values of any kind', async () => {
    const hostile = JSON.parse(
      '{"__proto__":"p","constructor":{"prototype":"q"},"a=b#c d":"e","":"empty"}',
    ) as LogRecord['fields']
    const deep = Array.from({ length: 60 }).reduce<LogRecord['fields']>((inner) => ({ d: inner }), { end: 'x' })
    const reader = await readerOf(newStore, [
      { fields: hostile },
      { fields: { text: 'a\u0000b · c\ud800 d\u2028e' } },
      { fields: deep },
    ])
    expect(await found(reader, '__proto__:p')).to.deep.equal([0])
    expect(await found(reader, 'constructor.prototype:q')).to.deep.equal([0])
    expect(await found(reader, '"a=b#c d":e')).to.deep.equal([0])
    expect(await found(reader, 'text:(a b c d e)')).to.deep.equal([1])
    expect(await found(reader, 'text="a\u0000b · c\ud800 d\u2028e"')).to.deep.equal([1])
  })
})
