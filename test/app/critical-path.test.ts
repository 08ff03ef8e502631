import { expect } from 'chai'
import { criticalPath, lengthOf } from '#src/app/trace/critical-path.ts'
import { spanIdOf, traceIdOf } from '#test/projections/traces/given.ts'
import { textOf } from '#test/support/page-text.ts'
import { eachSignedIn, type SignedIn } from './signed-in.ts'

const baseNs = BigInt(Date.UTC(2026, 10, 30)) * 1_000_000n

type Given = Readonly<{ id: string; parent?: string; at: number; to: number; kind?: 'consumer' }>

/** A span from one millisecond of the trace to another. */
const spanOf = ({ id, parent, at, to, kind }: Given) => ({
  span_id: id,
  parent_span_id: parent ?? null,
  start: new Date(Date.UTC(2026, 10, 30) + at).toISOString(),
  duration_ns: String((to - at) * 1_000_000),
  kind: kind ?? ('internal' as const),
})

/** Each part as `span from-to`, in order of time. */
function pathOf(...given: readonly Given[]): readonly string[] {
  const ms = (ns: bigint): number => Number((ns - baseNs) / 1_000_000n)
  const parts = [...criticalPath(given.map(spanOf))].flatMap(([{ span_id: id }, sections]) =>
    sections.map(({ startNs, endNs }) => ({ id, from: ms(startNs), to: ms(endNs) })),
  )
  return parts.toSorted((a, b) => a.from - b.from).map(({ id, from, to }) => `${id} ${from}-${to}`)
}

describe('the critical path of a trace', () => {
  const root = { id: 'a', at: 0, to: 100 }

  it('goes from the end of the root back through the spans that ended last', () => {
    expect(pathOf(root)).to.deep.equal(['a 0-100'])
    expect(
      pathOf(
        root,
        { id: 'b', parent: 'a', at: 10, to: 40 },
        { id: 'c', parent: 'a', at: 30, to: 90 },
        { id: 'd', parent: 'c', at: 50, to: 80 },
        { id: 'e', parent: 'a', at: 5, to: 20 },
      ),
    ).to.deep.equal(['a 0-5', 'e 5-20', 'a 20-30', 'c 30-50', 'd 50-80', 'c 80-90', 'a 90-100'])
  })

  it('goes through calls that follow each other without a gap, and past spans of no duration', () => {
    expect(
      pathOf(
        root,
        { id: 'b', parent: 'a', at: 0, to: 50 },
        { id: 'c', parent: 'a', at: 50, to: 100 },
        { id: 'd', parent: 'a', at: 50, to: 50 },
        { id: 'e', parent: 'c', at: 60, to: 60 },
      ),
    ).to.deep.equal(['b 0-50', 'c 50-60', 'c 60-100'])
    expect(pathOf({ id: 'a', at: 5, to: 5 }, { id: 'b', parent: 'a', at: 5, to: 5 })).to.deep.equal([])
    expect(pathOf()).to.deep.equal([])
  })

  it('has no part that a span took which ends before it begins, by a clock that was put back, and counts nothing twice', () => {
    const back = { id: 'b', parent: 'a', at: 60, to: 40 }
    expect(pathOf(root, back)).to.deep.equal(['a 0-60', 'a 60-100'])
    expect(pathOf(root, back, { id: 'c', parent: 'a', at: 10, to: 50 })).to.deep.equal([
      'a 0-10',
      'c 10-50',
      'a 50-60',
      'a 60-100',
    ])
    expect(pathOf({ id: 'a', at: 5, to: 0 }, { id: 'b', parent: 'a', at: 0, to: 5 })).to.deep.equal([])
  })

  it('has of a span that outlives its parent, or began before it, what lies within; and nothing of one that lies beside it', () => {
    expect(pathOf(root, { id: 'b', parent: 'a', at: 60, to: 300 })).to.deep.equal(['a 0-60', 'b 60-100'])
    expect(
      pathOf(root, { id: 'b', parent: 'a', at: -20, to: 30 }, { id: 'c', parent: 'b', at: -20, to: 10 }),
    ).to.deep.equal(['c 0-10', 'b 10-30', 'a 30-100'])
    expect(
      pathOf(root, { id: 'b', parent: 'a', at: 100, to: 200 }, { id: 'c', parent: 'b', at: 20, to: 90 }),
    ).to.deep.equal(['a 0-100'])
  })

  it('goes through what ended within its parent before what outlived it, which the parent cannot have waited for to its end', () => {
    const notify = { id: 'n', parent: 'a', at: 60, to: 300 }
    const charge = { id: 'c', parent: 'a', at: 20, to: 80 }
    expect(pathOf(root, charge, notify)).to.deep.equal(['a 0-20', 'c 20-80', 'n 80-100'])
    expect(pathOf(root, notify, { ...charge, to: 100 })).to.deep.equal(['a 0-20', 'c 20-100'])
    // A request whose span is closed before the work of its handler is, as between what the handler waits for.
    const [handler, query] = [
      { id: 'h', parent: 'a', at: 1, to: 101 },
      { id: 'q', parent: 'a', at: 30, to: 70 },
    ]
    const within = { id: 'w', parent: 'h', at: 10, to: 20 }
    expect(pathOf(root, handler, query, within)).to.deep.equal([
      'a 0-1',
      'h 1-10',
      'w 10-20',
      'h 20-30',
      'q 30-70',
      'h 70-100',
    ])
    // Of several, that which ended first.
    expect(pathOf(root, notify, { id: 'o', parent: 'a', at: 90, to: 200 })).to.deep.equal(['a 0-90', 'o 90-100'])
    // A span that is cut by what stands above it has not ended there for what stands below it.
    expect(pathOf(root, notify, { id: 'm', parent: 'n', at: 70, to: 200 })).to.deep.equal([
      'a 0-60',
      'n 60-70',
      'm 70-100',
    ])
  })

  it('does not wait for what takes a message after its sender has gone on', () => {
    const taken = { id: 'b', parent: 'a', at: 60, kind: 'consumer' } as const
    expect(pathOf(root, { ...taken, to: 300 })).to.deep.equal(['a 0-100'])
    expect(pathOf(root, { ...taken, to: 90 })).to.deep.equal(['a 0-60', 'b 60-90', 'a 90-100'])
  })

  it('has spans whose parents are missing below the only root; and goes through several from the last end', () => {
    const orphan = { id: 'b', parent: 'lost', at: 20, to: 80 }
    expect(pathOf(orphan, root)).to.deep.equal(['a 0-20', 'b 20-80', 'a 80-100'])
    const other = { id: 'c', parent: 'lost', at: 90, to: 95 }
    expect(pathOf({ id: 'a', parent: 'lost', at: 0, to: 30 }, orphan, other)).to.deep.equal(['b 20-80', 'c 90-95'])
    expect(pathOf(root, { id: 'b', at: 120, to: 130 })).to.deep.equal(['a 0-100', 'b 120-130'])
  })

  it('leaves out ids in a circle, takes its own parent for a root, and a span that is stored twice once', () => {
    const circle = [
      { id: 'x', parent: 'y', at: 0, to: 50 },
      { id: 'y', parent: 'x', at: 0, to: 50 },
    ]
    expect(pathOf(...circle)).to.deep.equal([])
    expect(pathOf(root, ...circle)).to.deep.equal(['a 0-100'])
    expect(pathOf({ id: 'a', parent: 'a', at: 0, to: 9 })).to.deep.equal(['a 0-9'])
    const twice = { id: 'b', parent: 'a', at: 10, to: 20 }
    expect(pathOf(root, twice, twice, { id: 'c', parent: 'b', at: 12, to: 15 })).to.deep.equal([
      'a 0-10',
      'b 10-12',
      'c 12-15',
      'b 15-20',
      'a 20-100',
    ])
  })

  it('takes as long as the root, also of 50,000 spans, before 1970, in a chain or side by side', () => {
    const many = (parentOf: (n: number) => number, at: (n: number) => number) =>
      Array.from({ length: 50_000 }, (_, n) => ({
        span_id: String(n),
        parent_span_id: n === 0 ? null : String(parentOf(n)),
        start: new Date(at(n) - 1_000_000_000).toISOString(),
        duration_ns: n === 0 ? '100000000000' : '1000000',
        kind: 'internal' as const,
      }))
    for (const spans of [
      many(
        (n) => n - 1,
        () => 0,
      ),
      many(
        () => 0,
        (n) => n,
      ),
      many(
        (n) => Math.floor(n / 2),
        (n) => n,
      ),
    ]) {
      const sections = [...criticalPath(spans).values()]
      expect(lengthOf(sections.flat())).to.equal(100_000_000_000n)
    }
  })
})

describe('the critical path on the page of a trace', () => {
  let browser: SignedIn['browser']
  let site: SignedIn['site']
  let spans: SignedIn['spans']
  eachSignedIn((signedIn) => {
    ;({ browser, site, spans } = signedIn)
  })

  const pageOf = async (...given: readonly Parameters<SignedIn['spans']>[1][]): Promise<string> => {
    await site.index(spans(1, ...given))
    return (await browser.get(`/app/trace/${traceIdOf('t')}`)).text
  }
  const toldIn = (text: string): string =>
    textOf(/<details id="critical-path">([^]*?)<\/details>/.exec(text)?.[1] ?? '')

  it('is a line in the bars of spans, said in their names, and told by service', async () => {
    const text = await pageOf(
      { id: 'a', forMs: 100 },
      { id: 'b', parent: 'a', service: 'db', atMs: 10, forMs: 30 },
      { id: 'c', parent: 'a', service: 'tax <b>', atMs: 40, forMs: 50, status: 'error' },
      { id: 'd', parent: 'a', service: 'mail', atMs: 20, forMs: 30 },
    )
    const barOf = (id: string) => {
      const bar = new RegExp(`id="span-${spanIdOf(id)}"[^]*?<svg ([^]*?)</svg>`).exec(text)?.[1] ?? ''
      const lines = [...bar.matchAll(/class="critical" x="([^"]*)" width="([^"]*)"/g)].map(
        ([, x, width]) => `${x} ${width}`,
      )
      return [/aria-label="([^"]*)"/.exec(bar)?.[1], ...lines]
    }
    expect(barOf('a')).to.deep.equal(['at +0 ns, 20.0 ms of it on the critical path', '0% 10%', '90% 10%'])
    expect(barOf('b')).to.deep.equal(['at +10.0 ms, 30.0 ms of it on the critical path', '10% 30%'])
    expect(barOf('c')).to.deep.equal(['at +40.0 ms, 50.0 ms of it on the critical path', '40% 50%'])
    expect(barOf('d')).to.deep.equal(['at +20.0 ms'])
    const told = toldIn(text)
    expect(told).to.match(/^Critical path: tax &lt;b&gt; 50 % db 30 % checkout 20 % What the trace waited for:/)
    expect(told).to.match(/Share tax &lt;b&gt; 50.0 ms 50 % db 30.0 ms 30 % checkout 20.0 ms 20 %$/)
  })

  it('has one line where parts of it lie as near as a thousandth, each of which can be seen', async () => {
    const calls = Array.from({ length: 400 }, (_, n) => ({ id: n, parent: 'a', atMs: n * 0.25, forMs: 0.24 }))
    const text = await pageOf({ id: 'a', forMs: 1_000 }, ...calls)
    const bar = new RegExp(`id="span-${spanIdOf('a')}"[^]*?</svg>`).exec(text)?.[0] ?? ''
    expect(
      [...bar.matchAll(/class="critical" x="([^"]*)" width="([^"]*)"/g)].map(([, x, width]) => [x, width]),
    ).to.deep.equal([['0%', '100%']])
    const widths = [...text.matchAll(/class="critical" x="[^"]*" width="([^"]*)%"/g)].map(([, width]) => Number(width))
    expect(widths).to.have.length(401)
    expect(Math.min(...widths)).to.be.at.least(0.1)
  })

  for (const [what, given] of [
    ['of one span', [{ id: 'a' }]],
    [
      'where nothing took time',
      [
        { id: 'a', forMs: 0 },
        { id: 'b', parent: 'a', forMs: 0 },
      ],
    ],
  ] as const) {
    it(`is not told ${what}, and no bar has a line`, async () => {
      const text = await pageOf(...given)
      expect(text).to.include('class="bar"').and.not.include('class="critical"')
      expect(toldIn(text)).to.equal('')
    })
  }

  it('says where spans are missing, whose time is then that of others', async () => {
    const lacking = 'Spans of this trace are missing: what they took counts as the time of those above them.'
    expect(toldIn(await pageOf({ id: 'a', forMs: 100 }, { id: 'b', parent: 'a' }))).to.not.include(lacking)
    await site.index(spans(2, { id: 'c', parent: 'lost', atMs: 50 }))
    expect(toldIn((await browser.get(`/app/trace/${traceIdOf('t')}`)).text)).to.include(lacking)
  })

  it('is told of a root that waited for nothing below', async () => {
    const text = await pageOf({ id: 'a', forMs: 100 }, { id: 'b', parent: 'a', service: 'mail', atMs: 200, forMs: 30 })
    expect(toldIn(text)).to.match(/^Critical path: checkout 100 % What/)
    expect(text.match(/class="critical" x/g)).to.have.length(1)
  })

  it('is said to be nowhere on a page that has a part of the spans', async () => {
    const text = await pageOf(
      ...Array.from({ length: 1_001 }, (_, n) => ({ id: n, atMs: n, parent: n === 0 ? null : 0 })),
    )
    expect(text).to.include('The critical path is shown where a page has all spans of its trace.')
    expect(text).to.not.include('class="critical"')
  })
})
