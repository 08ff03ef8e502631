import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { Level } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'
import { levelInText } from '#src/wire/logs/level-in-text.ts'

/** A line of each, as its program writes it. */
const lines: Readonly<Record<string, readonly [line: string, level: Level]>> = {
  'log4j, pattern layout': ['2026-11-29 09:46:42,080 ERROR [main] com.acme.Shop - failed', 'error'],
  'logback, default pattern': ['10:46:42.080 [main] TRACE com.acme.Shop -- x', 'trace'],
  'Spring Boot': ['2026-11-29T09:46:42.080Z  INFO 1 --- [nio-8080-exec-1] c.a.Shop : started', 'info'],
  'Spring Boot, with an offset': ['2026-11-29T09:46:42.080+01:00  WARN 1 --- [main] c.a.Shop : slow', 'warn'],
  'java.util.logging': ['SEVERE: cannot bind', 'error'],
  'java.util.logging, both lines': ['Nov 29, 2026 10:31:41 AM A main\nWARNING: slow', 'warn'],
  'log4j, of itself': ['2026-11-29T09:46:42.080Z main ERROR Unable to locate appender', 'error'],
  Tomcat: ['29-Nov-2026 09:46:42.080 SEVERE [main] org.apache.catalina.core x', 'error'],
  Maven: ['[ERROR] COMPILATION ERROR :', 'error'],
  Spark: ['26/11/29 09:46:42 INFO SparkContext: x', 'info'],
  ZooKeeper: ['2026-11-29 09:46:42,080 [myid:1] - INFO  [main:QuorumPeer@1] - x', 'info'],
  Cassandra: ['INFO  [main] 2026-11-29 09:46:42,080 StorageService.java:1 - x', 'info'],
  Elasticsearch: ['[2026-11-29T09:46:42,080][INFO ][o.e.n.Node] [node-0] started', 'info'],
  'Python, basicConfig': ['WARNING:root:careful', 'warn'],
  'Python, with a time': ['2026-11-29 09:46:42,080 - my.module - ERROR - x', 'error'],
  'Python, a name before the level': ['2026-11-29 10:25:43,280 my.mod WARNING slow thing happened', 'warn'],
  'Python, a padded name before the level': ['2026-11-29 10:25:43,280 my.mod       ERROR    it failed', 'error'],
  oslo: ['2026-11-29 10:25:43,281 4933 WARNING my.mod [-] slow thing happened', 'warn'],
  structlog: ['2026-11-29 10:25:43 [warning  ] slow                           a=1', 'warn'],
  'structlog, in colours': [
    '\u001b[2m2026-11-29T10:25:43.585713Z\u001b[0m [\u001b[33m\u001b[1mwarning  \u001b[0m] slow',
    'warn',
  ],
  'structlog, key and value': ["a=1 event='slow' level='warning' timestamp='2026-11-29T10:25:43.585759Z'", 'warn'],
  loguru: ['2026-11-29 10:25:43.422 | ERROR    | __main__:<module>:35 - failed', 'error'],
  rich: ['                    ERROR    boom                      a.py:60', 'error'],
  absl: ['W1129 10:25:43.655163 139900957793152 a.py:54] slow', 'warn'],
  uvicorn: ['INFO:     127.0.0.1:1234 - "GET / HTTP/1.1" 200 OK', 'info'],
  gunicorn: ['[2026-11-29 09:46:42 +0000] [7] [CRITICAL] worker timeout', 'fatal'],
  Celery: ['[2026-11-29 09:46:42,080: ERROR/ForkPoolWorker-1] task x', 'error'],
  'Ruby, Logger': ['E, [2026-11-29T09:46:42.080 #12] ERROR -- : x', 'error'],
  Monolog: ['[2026-11-29T09:46:42+00:00] production.ERROR: x {"a":1}', 'error'],
  'nginx, error log': ['2026/11/29 09:46:42 [error] 7#7: *1 open() failed', 'error'],
  'Apache, error log': ['[Sun Nov 29 09:46:42.080 2026] [mpm_event:notice] [pid 7] x', 'info'],
  Envoy: ['[2026-11-29 09:46:42.080][1][warning][main] [source/server.cc:1] x', 'warn'],
  PostgreSQL: ['2026-11-29 09:46:42.080 UTC [123] ERROR:  relation "x" does not exist', 'error'],
  'PostgreSQL, LOG': ['2026-11-29 09:46:42.080 UTC [123] LOG:  checkpoint starting', 'info'],
  'PostgreSQL, with user and database': [
    '2026-11-29 10:31:28.351 UTC [10158] nobody@nope FATAL:  database "nope" does not exist',
    'fatal',
  ],
  Redis: ['9986:M 29 Nov 2026 10:31:14.174 # WARNING Memory overcommit must be enabled!', 'warn'],
  'Redis, notice': ['1:M 29 Nov 2026 10:31:14.174 * Ready to accept connections tcp', 'info'],
  'Redis, verbose': ['1:S 29 Nov 2026 10:31:14.174 - DB 0: 3 keys (0 volatile) in 4 slots HT.', 'debug'],
  'Valkey, warning': ['1:C 29 Nov 2026 10:31:14.174 # Failed to fork', 'warn'],
  HAProxy: ['[NOTICE]   (1) : haproxy version is 2.6', 'info'],
  MariaDB: ['2026-11-29  9:46:42 0 [Note] mariadbd: ready for connections.', 'info'],
  'PHP, command line': ['PHP Warning:  Undefined variable $x in /a.php on line 1', 'warn'],
  'PHP, error log': ['[29-Nov-2026 09:46:42 UTC] PHP Fatal error:  Uncaught Exception: x', 'error'],
  MySQL: ['2026-11-29T09:46:42.080000Z 0 [Warning] [MY-010068] [Server] x', 'warn'],
  'MySQL, of the server': ['2026-11-29T09:46:42.080000Z 0 [System] [MY-010931] [Server] ready', 'info'],
  logrus: ['time="2026-11-29T09:46:42Z" level=error msg="x"', 'error'],
  'logrus, in colours': ['\u001b[31mERRO\u001b[0m[0000] boom                    \u001b[31ma\u001b[0m=1', 'error'],
  hclog: ['2026-11-29T10:26:40.962Z [WARN]  vault: slow', 'warn'],
  'slog, by default': ['2026/11/29 10:26:40 main.go:5: WARN slow a=1', 'warn'],
  'slog, text': ['time=2026-11-29T09:46:42.080Z level=INFO msg="WARN x"', 'info'],
  'go-kit': ['ts=2026-11-29T09:46:42.080Z caller=main.go:1 level=warn msg=x', 'warn'],
  'zap, console': ['2026-11-29T09:46:42.080Z\terror\tcaller/file.go:1\tx', 'error'],
  'zerolog, console': ['9:46AM ERR failed error="x"', 'error'],
  klog: ['E1129 09:46:42.080000       1 file.go:12] x', 'error'],
  'glog, with the year': ['W20261129 09:46:42.080000     1 file.cc:12] slow', 'warn'],
  CockroachDB: ['E261129 09:46:42.080000 1 server/node.go:12 ⋮ [T1,n1] 1  failed', 'error'],
  Sidekiq: ['2026-11-29T09:46:42.080Z pid=7 tid=2mv class=PayJob jid=0b1c WARN: slow', 'warn'],
  'Sidekiq, without times': ['pid=7 tid=2mv ERROR: failed', 'error'],
  env_logger: ['[2026-11-29T09:46:42Z ERROR my_crate] x', 'error'],
  'tracing-subscriber, in colours': [
    '\u001b[2m2026-11-29T09:46:42.080Z\u001b[0m \u001b[32m INFO\u001b[0m my_crate: x',
    'info',
  ],
  'Serilog, console': ['[09:46:42 INF] Now listening', 'info'],
  NLog: ['2026-11-29 09:46:42.0800|ERROR|Shop|x', 'error'],
  '.NET, console': ['fail: Microsoft.AspNetCore.Server.Kestrel[0]\n      x', 'error'],
  '.NET, console, debug': ['dbug: Shop[0]', 'debug'],
  Elixir: ['09:46:42.080 [error] GenServer terminating', 'error'],
  NestJS: ['[Nest] 5643  - 11/29/2026, 10:26:09 AM   ERROR [Shop] boom', 'error'],
  'NestJS, log, in colours': [
    '\u001b[32m[Nest] 5643  - \u001b[39m11/29/2026, 10:26:09 AM \u001b[32m    LOG\u001b[39m \u001b[38;5;3m[Shop] \u001b[39mhi',
    'info',
  ],
  'pino-pretty': ['[10:26:09.589] ERROR (5687): boom', 'error'],
  bunyan: ['10:26:18.840Z  WARN shop: slow', 'warn'],
  winston: ['2026-11-29T10:26:08.337Z [shop] error: boom', 'error'],
  Node: ['(node:5643) Warning: careful', 'warn'],
  'a warning of GitHub Actions': ['2026-11-29T09:46:42.1234567Z ##[warning]Unexpected input', 'warn'],
  'behind the prefix of containerd': ['2026-11-29T09:46:42.123456789Z stderr F ERROR boom', 'error'],
  'JSON behind the prefix of containerd': ['2026-11-29T09:46:42.123456789+01:00 stdout F {"level":"warn"}', 'warn'],
  'klog behind the prefix of Compose': ['web-1  | E1129 09:46:42.080000 1 x.go:1] y', 'error'],
  'behind the header of RFC 5424': ['<14>1 2026-11-29T09:46:42.080Z web-1 app 7 ID47 - ERROR x', 'error'],
  'an error of JavaScript': ['Error: checkout failed', 'error'],
  git: ['fatal: not a git repository', 'fatal'],
  'behind the header of syslog': ['Nov 29 09:46:42 host app[1]: warning: slow', 'warn'],
  'JSON that nobody took apart': ['{"msg":"ERROR x","level":"info"}', 'info'],
}

/** Words of levels that say something else. */
const others: readonly string[] = [
  '',
  'order stored',
  'E12345 09:46:42.080000 x',
  'tid=2mv ERROR: x',
  'sent to [System] of the bank',
  '1:M * 29 Nov 2026',
  'user clicked on info panel',
  'request failed with ERROR code',
  'Connection error: refused',
  'there were warnings',
  'TRACER ready',
  'ERRORS: 0',
  'ERROR-4711 is documented',
  'error-prone thing',
  'Info for user 7: fine',
  'took 35 ms (fine)',
  'levels=error',
  'my.level=error',
  'GET /x?level=error',
  'npm error: x',
  'at java.lang.Error.foo(Error.java:12)',
  '127.0.0.1 - - [29/Nov/2026:09:46:42 +0000] "GET /error HTTP/1.1" 500 12 "-" "Mozilla"',
  '127.0.0.1 - - [29/Nov/2026:09:46:42 +0000] "TRACE / HTTP/1.1" 405 12 "-" "Mozilla"',
  'Nov 29 09:46:42 web-1 app[7]: down',
  '{"msg":"ERROR x"}',
  'non-fatal: ignored',
  'NON-FATAL problem',
  'found 0 ERROR, 2 WARN',
  'DEBUG=* NODE_ENV=production',
  'Alert: your order was shipped',
  'log4js:logger sending log data (ERROR) to appenders',
  'Logger created (shop, TRACE)',
  'response { ok: true, error: null }',
  '  error: undefined',
  '    onError: (error) => {',
  '    err: {',
  "  level: Level { level: 40000, levelStr: 'ERROR', colour: 'red' },",
  'error: null',
  'debug: false',
  '127.0.0.1 - - [29/Nov/2026:09:46:42 +0000] "GET /:ERROR HTTP/1.1" 404 12 "-" "Mozilla"',
  String.raw`127.0.0.1 - - [29/Nov/2026:09:46:42 +0000] "GET / HTTP/1.1" 200 12 "-" "a \" level=fatal [error] b"`,
  `${'x'.repeat(300)} - ERROR - x`,
]

describe('the level that a line of text says of itself', () => {
  for (const [program, [line, level]] of Object.entries(lines)) {
    it(`is that of ${program}`, () => expect(levelInText(line)).to.equal(level))
  }

  it('is none where the word is one of a sentence, an address or a name', () => {
    expect(others.filter((line) => levelInText(line) !== undefined)).to.deep.equal([])
  })

  it('is that of a record that has no other', () => {
    const levelsOf = (body: string, type: string): readonly (Level | null)[] =>
      decodeLogs(Buffer.from(body), type, { receivedAt: 0, limits }).map(({ level }) => level)
    expect(levelsOf('2026-11-29 09:46:42 WARN slow\nERROR: down\nup', 'text/plain')).to.deep.equal([
      'warn',
      'error',
      null,
    ])
    const records = [
      { log: '2026-11-29 09:46:42 ERROR down\n', stream: 'stderr' },
      { message: 'ERROR down', level: 'info' },
      { message: 'ERROR down', level: 'none of ours' },
      { message: 'ERROR down', PRIORITY: '4' },
      { error: 'ERROR down' },
    ]
    expect(levelsOf(JSON.stringify(records), 'application/json')).to.deep.equal([
      'error',
      'info',
      'error',
      'warn',
      null,
    ])
  })
})
