import { readdirSync, readFileSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { expect } from 'chai'
import { observeDeadLetters } from '#src/operations/dead-letters.ts'
import { observeDisk } from '#src/operations/disk.ts'
import { observeIndexes } from '#src/operations/index-lag.ts'
import { createMetrics } from '#src/operations/metrics.ts'
import { observeProcess } from '#src/operations/process.ts'
import { observeQuarantine } from '#src/operations/quarantine.ts'
import { createStreamObserver } from '#src/operations/observed-stream.ts'
import { observeRetention } from '#src/operations/retention.ts'
import { createOperationsRoutes } from '#src/operations/routes.ts'
import { noCounts } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import type { IndexReader, Progress } from '#projections/index-store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { makeEvent } from '../support/make-event.ts'
import { listen } from '../support/http.ts'

describe('metrics', () => {
  it('are told in the text format of Prometheus, labels escaped', async () => {
    const metrics = createMetrics()
    const add = metrics.counter('requests_total', 'Requests.')
    add({ route: '/a', status: '200' })
    add({ route: '/a', status: '200' }, 2)
    add({ route: 'x"\\\n' })
    const take = metrics.histogram('seconds', 'How long.', [0.1, 1])
    for (const value of [0.05, 0.1, 0.5, 7]) take({ route: '/a' }, value)
    take({}, 1)
    metrics.gauge('waiting', 'How many.', () => [{ labels: {}, value: 3 }])
    expect(await metrics.text()).to.equal(`# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{route="/a",status="200"} 3
requests_total{route="x\\"\\\\\\n"} 1
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{route="/a",le="0.1"} 2
seconds_bucket{route="/a",le="1"} 3
seconds_bucket{route="/a",le="+Inf"} 4
seconds_sum{route="/a"} 7.65
seconds_count{route="/a"} 4
seconds_bucket{le="0.1"} 0
seconds_bucket{le="1"} 1
seconds_bucket{le="+Inf"} 1
seconds_sum 1
seconds_count 1
# HELP waiting How many.
# TYPE waiting gauge
waiting 3
`)
  })

  it('leave out what cannot be read, and tell the rest', async () => {
    const metrics = createMetrics()
    metrics.gauge('lost', 'Gone.', () => Promise.reject(new Error('down')))
    metrics.gauge('kept', 'There.', () => [{ labels: {}, value: 1 }])
    const text = await metrics.text()
    expect(text).to.include('# lost could not be read\n')
    expect(text).to.match(/^kept 1$/m)
    expect(text).to.not.match(/^lost/m)
  })

  it('have the names that the operator’s page calls them by', () => {
    const own = readdirSync('src/operations').map((file) => `src/operations/${file}`)
    const made = [...own, 'src/compose/http.ts'].map((file) => readFileSync(file, 'utf8')).join('\n')
    const named = [...new Set(readFileSync('infra/operating.md', 'utf8').match(/\bthroughline_[a-z_]+/g))]
    expect(named).to.have.length.above(8)
    expect(named.filter((name) => !made.includes(`'${name}'`))).to.deep.equal([])
  })

  it('do not wait for what is never read', async () => {
    const metrics = createMetrics(1)
    metrics.gauge('hanging', 'An engine that gives no answer.', () => Promise.withResolvers<never>().promise)
    metrics.counter('requests_total', 'Requests.')({})
    expect(await metrics.text())
      .to.include('# hanging could not be read\n')
      .and.to.include('\nrequests_total 1\n')
  })
})

describe('a process', () => {
  it('is told by the names that clients of Prometheus use, its main thread from the second time on', async () => {
    const metrics = createMetrics()
    observeProcess(metrics, () => 1_024)
    const read = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (.+)$`, 'm').exec(await metrics.text())?.[1])
    expect(await metrics.text()).to.include('# TYPE process_cpu_seconds_total counter\n')
    const before = process.cpuUsage()
    const cpu = await read('process_cpu_seconds_total')
    const after = process.cpuUsage()
    expect(cpu).to.be.within((before.user + before.system) / 1e6, (after.user + after.system) / 1e6)
    expect(await read('process_start_time_seconds')).to.be.within(
      Date.now() / 1_000 - process.uptime() - 10,
      Date.now() / 1_000,
    )
    expect(await read('process_resident_memory_bytes')).to.be.within(10_000_000, 100_000_000_000)
    expect(await read('process_max_fds')).to.equal(1_024)
    const open = await read('process_open_fds')
    const files = await Promise.all(Array.from({ length: 100 }, () => openFile(import.meta.filename)))
    // What else is open in this process may be closed meanwhile.
    expect(await read('process_open_fds')).to.be.at.least(open + 50)
    for (const file of files) await file.close()
    expect(await read('nodejs_eventloop_lag_p99_seconds')).to.be.within(0, 60)
  })

  it('has no bound of open files where none is known', async () => {
    const metrics = createMetrics()
    observeProcess(metrics, () => undefined)
    expect(await metrics.text()).to.not.match(/^process_max_fds/m)
  })
})

describe('damaged logs in quarantine', () => {
  it('are told by log for as long as they lie there, and as none where there are none', async () => {
    const metrics = createMetrics()
    let setAside = [
      { name: 'log', lost: 3 },
      { name: 'log', lost: 4 },
    ]
    observeQuarantine(metrics, { names: ['log', 'directory'], setAside: () => setAside })
    const text = await metrics.text()
    expect(text).to.include('throughline_quarantined_logs{log="log"} 2\n')
    expect(text).to.include('throughline_quarantined_logs{log="directory"} 0\n')
    expect(text).to.include('throughline_quarantined_lost_events{log="log"} 7\n')
    setAside = []
    expect(await metrics.text()).to.include('throughline_quarantined_logs{log="log"} 0\n')
  })
})

describe('the volume of a data folder', () => {
  it('is told with its size and what is free of it', async () => {
    const metrics = createMetrics()
    observeDisk(metrics, import.meta.dirname)
    const text = await metrics.text()
    const read = (name: string): number =>
      Number(new RegExp(`^throughline_disk_${name}_bytes (.+)$`, 'm').exec(text)?.[1])
    expect(read('size')).to.be.greaterThan(0)
    expect(read('free')).to.be.within(0, read('size') - 1)
  })
})

describe('dead letters', () => {
  it('are counted for each log and each index while nobody has decided on them', async () => {
    const metrics = createMetrics()
    const streams = ['0', '1'].map((partition) => createMemoryStream({ partition }))
    const observed = streams.map((log) => ({ log, liveVersion: async () => undefined }))
    observeDeadLetters(metrics, observed, [
      { name: 'logs', version: 2 },
      { name: 'traces', version: 1 },
    ])
    const [stream] = streams
    const letters = createDeadLetters({ stream: present(stream, 'the first'), clock: () => 1 })
    await stream?.append([makeEvent('one'), makeEvent('two'), makeEvent('three'), makeEvent('four')])
    const reason = new PermanentError({ operation: 'decode', subject: 'it' })
    for (const event of (await stream?.read(0, 4)) ?? []) {
      await letters.put({ name: 'logs', version: 2 }, new PoisonError(event, reason))
    }
    await letters.settle({ name: 'logs', version: 2 }, 4096, 'dropped')
    await letters.settle({ name: 'logs', version: 2 }, 8192, 'retried')
    const told = (await metrics.text()).split('\n').filter((line) => line.startsWith('throughline_dead_letters'))
    expect(told).to.deep.equal([
      'throughline_dead_letters{projection="logs",partition="0"} 2',
      'throughline_dead_letters{projection="traces",partition="0"} 0',
      'throughline_dead_letters{projection="logs",partition="1"} 0',
      'throughline_dead_letters{projection="traces",partition="1"} 0',
    ])
  })
})

describe('dead letters while an upgrade folds', () => {
  it('are those of the index that readers use and of the one that is folded, each event once, also where no index answers', async () => {
    const [log, clock] = [createMemoryStream({ partition: '0' }), () => 1]
    await log.append([makeEvent('one'), makeEvent('two'), makeEvent('three')])
    const letters = createDeadLetters({ stream: log, clock })
    const reason = new PermanentError({ operation: 'decode', subject: 'it' })
    for (const [version, count] of [
      [1, 2],
      [2, 3],
    ] as const)
      for (const event of (await log.read(0, 3)).slice(version - 1, count))
        await letters.put({ name: 'logs', version }, new PoisonError(event, reason))
    const answers: (() => Promise<number>)[] = [
      async () => 1,
      () => Promise.reject(new TransientError({ operation: 'read', subject: 'it' })),
      () => new Promise(() => undefined),
    ]
    const told = await Promise.all(
      answers.map(async (liveVersion) => {
        const metrics = createMetrics()
        observeDeadLetters(metrics, [{ log, liveVersion }], [{ name: 'logs', version: 2 }])
        return /^throughline_dead_letters\{.*\} (\d+)$/m.exec(await metrics.text())?.[1]
      }),
    )
    expect(told).to.deep.equal(['3', '2', '2'])
  })
})

describe('the beginning of logs', () => {
  it('is told with when its first event came, in seconds, and not of a log without one', async () => {
    const metrics = createMetrics()
    const logs = ['0', '1'].map((partition) => createMemoryStream({ partition }))
    await logs[0]?.append([makeEvent('one', { receivedAt: 1_795_240_000_500 })])
    observeRetention(metrics, logs, { daysDropped: () => 3, buildsHolding: () => 2 })
    expect((await metrics.text()).split('\n').filter((line) => /^[^#]/.test(line))).to.deep.equal([
      'throughline_log_first_position{partition="0"} 4096',
      'throughline_log_first_received_timestamp_seconds{partition="0"} 1795240000.5',
      'throughline_index_days_dropped 3',
      'throughline_log_holding_builds 2',
    ])
  })
})

describe('an observed log', () => {
  const counts = { ...noCounts, spans: 3, logs: 2, refused: 1 }

  it('counts what is stored once, and what fails, but not what the log refuses for what came first', async () => {
    const metrics = createMetrics()
    const memory = createMemoryStream({ partition: '0' })
    let isFull = false
    const append: typeof memory.append = (...args) =>
      isFull ? Promise.reject(new TransientError({ operation: 'append to', subject: 'log' })) : memory.append(...args)
    const stream = createStreamObserver(metrics)({ ...memory, append })
    // From the start: whoever watches for growth sees none in a figure that is not there before.
    expect(await metrics.text()).to.match(/^throughline_appends_failed_total 0$/m)
    const event = { ...makeEvent('one'), counts }
    const begun = performance.now()
    await stream.append([event])
    await stream.append([event])
    const seconds = (performance.now() - begun) / 1_000
    const conflict = stream.append([{ ...makeEvent('two'), counts }], { subject: 'other', position: 1 })
    expect(await conflict.catch((error: Error) => error.name)).to.equal('ConflictError')
    expect(await metrics.text(), 'an alarm goes by it').to.match(/^throughline_appends_failed_total 0$/m)
    isFull = true
    expect(await stream.append([event]).catch((error: Error) => error.name)).to.equal('TransientError')
    const text = await metrics.text()
    expect(text).to.match(/^throughline_records_accepted_total\{kind="span"\} 3$/m)
    expect(text).to.match(/^throughline_records_accepted_total\{kind="log"\} 2$/m)
    expect(text).to.not.include('kind="rum_event"')
    expect(text).to.match(/^throughline_records_refused_total 1$/m)
    expect(text).to.match(/^throughline_appends_failed_total 1$/m)
    expect(text).to.match(/^throughline_append_seconds_count 2$/m)
    expect(Number(/^throughline_append_seconds_sum (.+)$/m.exec(text)?.[1])).to.be.within(0, seconds)
    expect(text).to.match(/^throughline_append_queue_events 0$/m)
    expect(await stream.head(), 'it is the log still').to.equal(await memory.head())
  })

  it('shows what waits while it waits', async () => {
    const metrics = createMetrics()
    const memory = createMemoryStream({ partition: '0' })
    const slow = Promise.withResolvers<void>()
    const append: typeof memory.append = async (...args) => {
      await slow.promise
      return memory.append(...args)
    }
    const stream = createStreamObserver(metrics)({ ...memory, append })
    const event = makeEvent('one')
    const appended = stream.append([event])
    expect(await metrics.text()).to.match(/^throughline_append_queue_events 1$/m)
    expect(await metrics.text()).to.match(new RegExp(`^throughline_append_queue_bytes ${event.payload.length}$`, 'm'))
    slow.resolve()
    await appended
    expect(await metrics.text()).to.match(/^throughline_append_queue_bytes 0$/m)
  })
})

describe('the lag of indexes', () => {
  const now = 1_000_000
  const lagOf = async (progress: Partial<Progress> | undefined): Promise<string | undefined> => {
    const metrics = createMetrics()
    const whole = { index: 'logs-v1-001', position: 8_192, head: 8_192, at: now, caughtUpAt: now, ...progress }
    const reader = { progress: async () => (progress === undefined ? undefined : whole) } as Partial<IndexReader>
    observeIndexes(metrics, {
      indexes: [{ partition: '2', reader: reader as IndexReader }],
      projections: ['logs'],
      clock: () => now,
    })
    return /^throughline_index_lag_seconds\{projection="logs",partition="2"\} (\S+)$/m.exec(await metrics.text())?.[1]
  }

  it('is nothing at the head, and time since when behind it', async () => {
    expect(await lagOf({})).to.equal('0')
    expect(await lagOf({ position: 4_096, caughtUpAt: now - 2_500 })).to.equal('2.5')
  })

  it('stands beside the place of the index, the head of its log and the days that it has lost', async () => {
    const metrics = createMetrics()
    const progress = { index: 'logs-v1-001', after: 0, position: 4_096, head: 8_192, at: now, caughtUpAt: now }
    const readers = [progress, { ...progress, lostDays: ['2026-11-20', '2026-11-21'] }].map(
      (told) => ({ progress: async () => told }) as unknown as IndexReader,
    )
    const indexes = readers.map((reader, at) => ({ partition: String(at), reader }))
    observeIndexes(metrics, { indexes, projections: ['logs'], clock: () => now })
    const told = (await metrics.text()).split('\n').filter((line) => /^throughline_index_(?!lag)/.test(line))
    expect(told).to.deep.equal([
      'throughline_index_position{projection="logs",partition="0"} 4096',
      'throughline_index_position{projection="logs",partition="1"} 4096',
      'throughline_index_lost_days{projection="logs",partition="0"} 0',
      'throughline_index_lost_days{projection="logs",partition="1"} 2',
      'throughline_index_unreadable{projection="logs",partition="0"} 0',
      'throughline_index_unreadable{projection="logs",partition="1"} 0',
      'throughline_index_log_head{projection="logs",partition="0"} 8192',
      'throughline_index_log_head{projection="logs",partition="1"} 8192',
    ])
  })

  it('grows while nobody folds, even at the head', async () => {
    expect(await lagOf({ at: now - 60_000, caughtUpAt: now - 60_000 })).to.equal('60')
  })

  it('is told of all other indexes where one cannot be read', async () => {
    const progress = { index: 'logs-v1-001', after: 0, position: 8_192, head: 8_192, at: now, caughtUpAt: now }
    const readers: Record<string, () => Promise<Progress>> = {
      logs: async () => progress,
      traces: () => Promise.reject(new Error('its layout is newer')),
    }
    const reader = { progress: (name: string) => readers[name]?.() } as unknown as IndexReader
    for (const [projections, expected] of [
      [['traces', 'logs'], 'throughline_index_position{projection="logs",partition="0"} 8192\n'],
      [['traces', 'logs'], 'throughline_index_unreadable{projection="traces",partition="0"} 1\n'],
      [['traces'], '# throughline_index_position could not be read\n'],
    ] as const) {
      const metrics = createMetrics()
      observeIndexes(metrics, { indexes: [{ partition: '0', reader }], projections, clock: () => now })
      expect(await metrics.text()).to.include(expected)
    }
  })

  it('is not told of an index that is not built', async () => {
    expect(await lagOf(undefined)).to.equal(undefined)
  })
})

describe('the operations listener', () => {
  it('tells that the process lives, whether it is ready, and its figures', async () => {
    const metrics = createMetrics()
    metrics.counter('requests_total', 'Requests.')({ route: '/a' })
    let isReady = false
    const server = await listen({ routes: createOperationsRoutes({ metrics, isReady: () => isReady }) })
    const get = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(server.baseUrl + path)
      if (path === '/metrics') expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4;/)
      return [response.status, await response.text()]
    }
    expect(await get('/health/live')).to.deep.equal([200, 'live\n'])
    expect(await get('/health/ready')).to.deep.equal([503, 'not ready\n'])
    isReady = true
    expect(await get('/health/ready')).to.deep.equal([200, 'ready\n'])
    const [status, text] = await get('/metrics')
    expect([status, text]).to.deep.equal([
      200,
      '# HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{route="/a"} 1\n',
    ])
    await server.close()
  })

  it('hears of requests by route, not by path, and of those that fit none', async () => {
    const heard: unknown[] = []
    const times: number[] = []
    const begun = performance.now()
    const server = await listen({
      routes: [
        { method: 'GET', path: '/things/:id', auth: 'public', handler: (ctx) => void (ctx.body = 'thing') },
        {
          method: 'GET',
          path: '/broken',
          auth: 'public',
          handler: () => Promise.reject(new TransientError({ operation: 'read', subject: 'it' })),
        },
      ],
      observe: ({ seconds, ...request }) => {
        heard.push(request)
        times.push(seconds)
      },
    })
    for (const path of ['/things/7', '/broken', '/nothing']) await fetch(server.baseUrl + path)
    await server.close()
    expect(heard).to.deep.equal([
      { method: 'GET', route: '/things/:id', status: 200 },
      { method: 'GET', route: '/broken', status: 503 },
      { method: 'GET', route: 'none', status: 404 },
    ])
    // They came one after the other.
    expect(times.every((seconds) => seconds > 0)).to.equal(true)
    expect(times.reduce((sum, seconds) => sum + seconds)).to.be.below((performance.now() - begun) / 1_000)
  })
})
