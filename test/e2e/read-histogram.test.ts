import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { formatTimeNs } from '#src/lib/time.ts'
import { at, completeAnswerOf, listOf, signIn, untilIndexed, type Reader } from '../support/client.ts'
import { borrowServer, type LentServer } from '../support/lent-server.ts'
import { withPlainTimes } from '../support/plain-times.ts'
import { hex } from '../support/telemetry.ts'
import { minutesAgoNs, secondNs, sendingTo, type Sending } from '../support/workspace.ts'

const t0 = minutesAgoNs(30)
const atS = (seconds: number): bigint => t0 + BigInt(seconds) * secondNs
/** Of clocks that are wrong by years; the last is what an index can hold. */
const far = ['2100-01-01T00:00:00.030000000Z', '2101-06-01T00:00:00.000000000Z', '2262-04-11T23:47:16.854775807Z']
const farNs = [4_102_444_800_030_000_000n, 4_147_113_600_000_000_000n, 9_223_372_036_854_775_807n]
const secondsNear = [1, 2, 3, 5, 8] as const

type Histogram = Readonly<{ stepMs: unknown; buckets: readonly JsonObject[] }>

describe('histograms of an open range, beside records of clocks that are wrong by years', () => {
  let server: LentServer
  let reader: Reader
  let send: Sending
  const range = `from=${formatTimeNs(t0)}`
  const paths = {
    logs: `/api/app/logs/search?${range}&include=histogram,count`,
    traces: `/api/app/traces/search?${range}&include=histogram`,
    spans: `/api/app/traces/search?${range}&service=shop&include=histogram`,
  }
  const asked = async (path: string): Promise<Histogram> => {
    const body = await completeAnswerOf(reader, path)
    return {
      stepMs: at(body, 'histogram', 'step_ms'),
      buckets: listOf(body['histogram'] as JsonObject, 'buckets'),
    }
  }
  const totalOf = ({ buckets }: Histogram): number => buckets.reduce((sum, { total }) => sum + Number(total), 0)
  /** As they were before the far records came. */
  const alone = new Map<string, Histogram>()

  before(async () => {
    server = await borrowServer()
    reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    send = sendingTo(server, server.firstRun.keys)
    const near = secondsNear.map((seconds) => ({
      message: 'near',
      level: 'info',
      timestamp: formatTimeNs(atS(seconds)),
    }))
    const span = (name: string, startNs: bigint) => ({
      traceId: hex(32, name),
      spanId: hex(16, name),
      name,
      service: 'shop',
      startNs,
      durationNs: 0n,
      status: 'error' as const,
    })
    await send.logs(near)
    await send.spans(secondsNear.map((seconds) => span(`near ${seconds}`, atS(seconds))))
    await untilIndexed(server)
    for (const [name, path] of Object.entries(paths)) alone.set(name, await asked(path))
    await send.logs(far.map((timestamp, index) => ({ message: `far ${index}`, level: 'fatal', timestamp })))
    await send.spans(farNs.map((startNs, index) => span(`far ${index}`, startNs)))
    await untilIndexed(server)
  })
  after(async () => {
    await server.giveBack()
  })

  const counts = {
    logs: { by_level: { fatal: 3 } },
    traces: { errors: 3 },
    spans: { errors: 3 },
  }
  for (const name of ['logs', 'traces', 'spans'] as const) {
    it(`keep the buckets of ${name}, and count what is far in the last, which has no end`, async () => {
      const near = alone.get(name)
      expect(near?.stepMs).to.equal(100)
      expect(near?.buckets.map(({ time }) => time)).to.deep.equal(secondsNear.map((s) => formatTimeNs(atS(s))))
      const found = await asked(paths[name])
      expect(found.stepMs).to.equal(100)
      expect(found.buckets.slice(0, -1)).to.deep.equal(near?.buckets)
      const time = '2100-01-01T00:00:00.000000000Z'
      expect(found.buckets.at(-1)).to.deep.equal({ time, total: 3, ...counts[name], and_later: true })
    })
  }

  it('count each record that the search finds, once', async () => {
    const body = await completeAnswerOf(reader, `${paths.logs}&limit=100`)
    expect(listOf(body, 'logs')).to.have.length(8)
    expect([body['count'], totalOf(await asked(paths.logs))]).to.deep.equal([8, 8])
    const only = await asked(`${paths.logs}&q=far`)
    expect([totalOf(only), only.buckets.filter((bucket) => 'and_later' in bucket)]).to.deep.equal([3, []])
  })

  it('are as wide as is asked for where they have an end', async () => {
    for (const path of Object.values(paths)) {
      const { stepMs, buckets } = await asked(`${path}&to=2102-01-01`)
      expect(stepMs).to.equal(364 * 86_400_000)
      expect(totalOf({ stepMs, buckets })).to.equal(7)
      expect(buckets.filter((bucket) => 'and_later' in bucket)).to.deep.equal([])
    }
  })

  for (const page of ['logs', 'traces']) {
    it(`are drawn on the page of ${page} to their width, with a way to what is far`, async () => {
      const text = withPlainTimes(await (await reader.raw(`/app/${page}?${range}`)).text())
      const titles = [...text.matchAll(/<title>(\d{4}-\d\d-\d\d) [\d:]{8} UTC: 1(?:, 1 error)?<\/title>/g)]
      expect(titles.map(([, day]) => day?.slice(0, 2))).to.deep.equal(secondsNear.map(() => '20'))
      expect(text).to.match(
        /class="axis note">\s*<span>20\d\d-[^<]*<\/span>\s*<span data-chosen>highest bar: 1 in [^<]*<\/span>\s*<span>20(?!99)\d\d-/,
      )
      expect(text).not.to.match(/class="axis note">(?:\s*<span[^>]*>[^<]*<\/span>)*\s*<span>2100/)
      const [, count, address = ''] = /(\d+) dated far in the future: <a href="([^"]*)"/.exec(text) ?? []
      expect(count).to.equal('3')
      const there = await (await reader.raw(address.replaceAll('&amp;', '&'))).text()
      for (const index of far.keys()) expect(there).to.include(`far ${index}`)
      expect(there).not.to.include('dated far in the future')
    })
  }
})

describe('histograms of an open range, beside a clock that is ahead by hours', () => {
  let server: LentServer
  before(async () => {
    server = await borrowServer()
  })
  after(async () => {
    await server.giveBack()
  })

  it('reach as far as that clock', async () => {
    const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
    const aheadNs = atS(30 * 60 + 14 * 3_600)
    await sendingTo(server, server.firstRun.keys).logs([
      { message: 'now', timestamp: formatTimeNs(atS(1)) },
      { message: 'ahead', timestamp: formatTimeNs(aheadNs) },
    ])
    await untilIndexed(server)
    const { histogram } = await completeAnswerOf(
      reader,
      `/api/app/logs/search?from=${formatTimeNs(t0)}&include=histogram`,
    )
    expect(at(histogram, 'step_ms')).to.equal(600_000)
    const buckets = listOf(histogram as JsonObject, 'buckets')
    expect(buckets.map((bucket) => [bucket['total'], 'and_later' in bucket])).to.deep.equal([
      [1, false],
      [1, false],
    ])
  })
})
