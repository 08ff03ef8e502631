import { expect } from 'chai'
import { shapeOf } from '#src/app/search/patterns/message-shape.ts'

/** Lines as servers, databases, runtimes and loggers write them. */
const lines: Readonly<Record<string, readonly (readonly [message: string, shape: string])[]>> = {
  nginx: [
    [
      '10.0.0.7 - - [10/Oct/2000:13:55:36 -0700] "GET /api/orders/123?x=1 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (X11)"',
      '<ip> - - [<time>] "GET /api/orders/<num>?x=<num> HTTP/<num>" <num> <num> "<text>" "<text>"',
    ],
    [
      '2026/11/21 12:00:00 [error] 31#31: *1 connect() failed (111: Connection refused), client: 10.0.0.1, upstream: "http://10.0.0.2:80/"',
      '<time> [error] <num>#<num>: *<num> connect() failed (<num>: Connection refused), client: <ip>, upstream: "<text>"',
    ],
  ],
  JVM: [
    [
      'java.lang.NullPointerException: Cannot invoke "String.length()" because "s" is null\n\tat a.B.c(B.java:12)',
      'java.lang.NullPointerException: Cannot invoke "<text>" because "<text>" is null',
    ],
    [
      '2026-11-21 12:00:00.123  INFO 1 --- [nio-8080-exec-1] c.a.Foo : Started in 3.2 seconds',
      '<time> INFO <num> --- [nio-<num>-exec-<num>] c.a.Foo : Started in <num> seconds',
    ],
    ['at com.acme.Foo$$Lambda$14/0x00007f2c', 'at com.acme.Foo$$Lambda$<num>/<id>'],
  ],
  Postgres: [
    [
      'duplicate key value violates unique constraint "users_email_key"',
      'duplicate key value violates unique constraint "<text>"',
    ],
    [
      '2026-11-21 12:00:00.123 UTC [4711] LOG:  duration: 12.345 ms  statement: SELECT 1',
      '<time> UTC [<num>] LOG: duration: <num> ms statement: SELECT <num>',
    ],
  ],
  pino: [
    ['request completed', 'request completed'],
    ['GET /api/v1/orders 200 in 12ms', 'GET /api/v1/orders <num> in <num>'],
    ['{"id": 7, "name":"x y", "gone":null}', '{"id": <num>, "name":"<text>", "gone":null}'],
  ],
  Kubernetes: [
    [
      'Back-off restarting failed container web in pod web-5d4f8c7b9d-x7k2p_shop',
      'Back-off restarting failed container web in pod web-<id>_shop',
    ],
    [
      'I1121 12:00:00.123456       1 controller.go:123] "Starting" worker=3',
      '<time> <num> controller.go:<num>] "Starting" worker=<num>',
    ],
  ],
  Go: [
    [
      '2026/11/21 12:00:00 http: TLS handshake error from 10.0.0.7:5432: EOF',
      '<time> http: TLS handshake error from <ip>: EOF',
    ],
    [
      'time=2026-11-21T12:00:00Z level=INFO msg="order 7 paid" by="Ann B"',
      'time=<time> level=INFO msg="order <num> paid" by="<text>"',
    ],
    ['goroutine 18 [running] after 1m30.5s', 'goroutine <num> [running] after <num>'],
  ],
  Python: [
    ['Traceback (most recent call last):\n  File "a.py", line 7\nKeyError: 7\n', 'KeyError: <num>'],
    [
      'Task app.add[9f1c2d3e-0000-4000-8000-aabbccddeeff] succeeded in 0.1s: None',
      'Task app.add[<id>] succeeded in <num>: None',
    ],
    ["can't open 'my file': don't", "can't open '<text>': don't"],
  ],
  syslog: [['Nov 21 12:00:00 host sshd[123]: Accepted for ann', '<time> host sshd[<num>]: Accepted for ann']],
}

describe('the shape of a message', () => {
  for (const [of, given] of Object.entries(lines)) {
    it(`has placeholders for what varies in lines of ${of}`, () => {
      expect(given.map(([message]) => shapeOf(message))).to.deep.equal(given.map(([, shape]) => shape))
    })
  }

  it('has them for times, addresses and ids, as far as they can be told', () => {
    for (const [part, by] of [
      ...['2026-11-21', '2026-11-21T12:00:00Z', '2026-11-21T12:00:00.123+01:00', '12:00', '12:00:00,5'].map((each) => [
        each,
        '<time>',
      ]),
      ...['10.0.0.7', '10.0.0.7:80', 'fe80::1', '::1', '2001:db8::ff00:42:8329'].map((each) => [each, '<ip>'] as const),
      ...['9F1C2D3E-0000-4000-8000-AABBCCDDEEFF', 'deadbee1', '0x7f', 'aa:bb:cc:00:11:22', 'k3jh4g5'].map((each) => [
        each,
        '<id>',
      ]),
      ...['7', '-7', '1.5', '1,234.5', '12ms', '5GB', '2h0m0s'].map((each) => [each, '<num>'] as const),
    ]) {
      expect(shapeOf(`at ${part}, then`), part).to.equal(`at ${by}, then`)
      expect(shapeOf(`at=${part}`), part).to.equal(`at=${by}`)
    }
  })

  it('leaves names as they are', () => {
    for (const name of [
      'utf8',
      'sha256',
      'base64url',
      'i18n',
      'v2',
      'http2',
      'decade',
      'std::io',
      'a::b',
      'naïve',
      'x_y',
    ])
      expect(shapeOf(`with ${name} on`)).to.equal(`with ${name} on`)
  })

  it('finds numbers in scripts that are written without blanks', () => {
    expect(shapeOf('订单123已支付')).to.equal('订单<num>已支付')
  })

  it('does without colours, blanks and lines that are not needed', () => {
    expect(shapeOf('\u001b[32mINFO\u001b[39m: up   and\trunning')).to.equal('INFO : up and running')
    expect(shapeOf('\n\n  failed \r\n at x')).to.equal('failed')
    for (const none of ['', ' ', '\n', '\u001b[0m']) expect(shapeOf(none)).to.equal('')
  })

  it('is as long as a page can bear it, whatever was sent', () => {
    const parts = [
      'x',
      '"',
      "'",
      '`',
      '1',
      '1.',
      ':',
      'a1',
      '1h1m',
      '\u001b[',
      '\u001b[31',
      ' ',
      '<num>-',
      '=',
      '\u0301',
      '\u202e',
      '支',
      '\0',
      '\ud800',
      '\ud83d\ude00',
    ]
    for (const part of parts) {
      const shape = shapeOf(part.repeat(300_000))
      expect(shape.length, JSON.stringify(part)).to.be.below(6_000)
      expect(shapeOf(`begin ${part.repeat(300_000)}`), JSON.stringify(part)).to.match(/^begin/)
    }
  })
})
