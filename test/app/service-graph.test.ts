import { expect } from 'chai'
import { serviceGraph, type MapSpan, type MapTrace } from '#src/app/map/service-graph.ts'
import type { CallTarget } from '#src/app/map/call-target.ts'
import { turnsOf } from '#test/support/turns.ts'

type Given = Partial<Omit<MapSpan, 'spanId' | 'parentId' | 'links'>> &
  Readonly<{ id: string; parent?: string; links?: readonly string[]; ms?: number }>

/** A span of trace `t` and service `web`; links are written `trace/span`. */
const span = ({ id, parent, links = [], ms = 1, ...more }: Given): MapSpan => ({
  traceId: 't',
  spanId: id,
  parentId: parent ?? null,
  service: 'web',
  kind: 'server',
  isError: false,
  durationNs: BigInt(ms),
  links: links.map((link) => {
    const [traceId = '', spanId = ''] = link.split('/')
    return { traceId, spanId }
  }),
  target: undefined,
  ...more,
})

const trace = (spans: readonly Given[], more: Partial<MapTrace> = {}): MapTrace => ({
  spans: spans.map(span),
  isWhole: true,
  missing: new Set(),
  ...more,
})

const target = (kind: CallTarget['kind'], name: string): CallTarget => ({ kind, name, conditions: [] })

/** `web -> db: 2 calls, 1 errors, 1 told by caller`. */
async function told(...traces: readonly MapTrace[]): Promise<readonly string[]> {
  const { edges } = await serviceGraph(traces)
  return edges.map(
    ({ from, to, calls, errors, toldByCaller }) =>
      `${from.key} -> ${to.key}: ${calls} calls, ${errors} errors, ${toldByCaller} told by caller`,
  )
}

describe('the graph of services', () => {
  it('has a call where a span is below one of another service, and none within a service', async () => {
    const { nodes, edges } = await serviceGraph([
      trace([
        { id: 'a' },
        { id: 'b', parent: 'a', kind: 'internal' },
        { id: 'c', parent: 'b', kind: 'client', isError: true },
        { id: 'd', parent: 'c', service: 'api', ms: 30 },
        { id: 'e', parent: 'c', service: 'api', ms: 50, isError: true },
        { id: 'f', parent: 'b', service: 'api', kind: 'internal', ms: 40, isError: true },
      ]),
    ])
    expect(nodes.map(({ key, spans, errors, begins }) => [key, spans, errors, begins])).to.deep.equal([
      ['service/web', 3, 1, 1],
      ['service/api', 3, 2, 0],
    ])
    const [edge, ...others] = edges
    expect(others).to.deep.equal([])
    expect([edge?.calls, edge?.errors, edge?.toldByCaller]).to.deep.equal([3, 2, 0])
    expect(edge?.durations).to.deep.equal([30n, 40n, 50n])
    expect(edge?.longest).to.deep.equal({ traceId: 't', spanId: 'e', ns: 50n })
    expect(edge?.failed).to.deep.equal({ traceId: 't', spanId: 'e' })
  })

  it('tells entry spans of a service from those within it, and from those of which nobody knows', async () => {
    const queue = { kind: 'consumer', target: target('queue', 'jobs') } as const
    const { nodes } = await serviceGraph([
      trace([
        { id: 'a', ms: 9 },
        { id: 'b', parent: 'a', kind: 'internal', isError: true },
        { id: 'c', parent: 'a', kind: 'client' },
        { id: 'd', parent: 'c', service: 'api', ms: 5, isError: true },
        { id: 'e', parent: 'd', service: 'api', isError: true },
        { id: 'f', parent: 'c', service: 'api', ms: 3 },
        { id: 'g', parent: 'lost', ms: 4 },
        { id: 'h', service: 'worker', ms: 7, ...queue },
        { id: 'i', service: 'mailer', links: ['t/a'], ms: 8, ...queue },
      ]),
      trace([{ id: 'z', parent: 'later', traceId: 'u', service: 'cut' }], { isWhole: false }),
    ])
    const services = nodes.filter(({ kind }) => kind === 'service')
    expect(services.map(({ name, entries, failedEntries }) => [name, entries, failedEntries])).to.deep.equal([
      ['web', [4n, 9n], 0],
      ['api', [3n, 5n], 1],
      ['worker', [7n], 0],
      ['mailer', [8n], 0],
      ['cut', [], 0],
    ])
  })

  it('adds up calls of all traces, of which two may have the same span ids', async () => {
    const spans = [{ id: 'a' }, { id: 'b', parent: 'a', service: 'api' }]
    const other = spans.map((each) => ({ ...each, traceId: 'u', service: each.service ?? 'shop' }))
    expect(
      await told(trace(spans), trace(spans.map((each) => ({ ...each, traceId: 's' }))), trace(other)),
    ).to.deep.equal([
      'service/web -> service/api: 2 calls, 0 errors, 0 told by caller',
      'service/shop -> service/api: 1 calls, 0 errors, 0 told by caller',
    ])
  })

  it('shows a parent that was not received as missing, each once, and makes up no caller', async () => {
    const { nodes, edges } = await serviceGraph([
      trace([
        { id: 'a', parent: 'lost', ms: 3 },
        { id: 'b', parent: 'lost', service: 'api' },
        { id: 'c', parent: 'other', service: 'api' },
      ]),
    ])
    expect(nodes.map(({ key, spans, begins }) => [key, spans, begins])).to.deep.equal([
      ['service/web', 1, 0],
      ['service/api', 2, 0],
      ['missing/', 2, 0],
    ])
    expect(edges.map(({ from, to, calls }) => [from.key, to.key, calls])).to.deep.equal([
      ['missing/', 'service/web', 1],
      ['missing/', 'service/api', 2],
    ])
  })

  it('takes a parent for missing only where it is known to be, of a trace that was not read whole', async () => {
    const spans = [
      { id: 'a', parent: 'later' },
      { id: 'b', parent: 'lost', service: 'api' },
    ]
    const { nodes, edges } = await serviceGraph([trace(spans, { isWhole: false, missing: new Set(['lost']) })])
    expect(edges.map(({ from, to, calls }) => [from.key, to.key, calls])).to.deep.equal([
      ['missing/', 'service/api', 1],
    ])
    expect(nodes.map(({ spans: count, begins }) => [count, begins])).to.deep.equal([
      [1, 0],
      [1, 0],
      [1, 0],
    ])
  })

  it('draws what a call names where nobody has answered it', async () => {
    const db = target('database', 'postgresql/orders')
    expect(
      await told(
        trace([
          { id: 'a' },
          { id: 'b', parent: 'a', kind: 'client', target: db, isError: true },
          { id: 'c', parent: 'a', kind: 'client', target: db },
          // What a library tells of its connection is no answer.
          { id: 'd', parent: 'c', kind: 'internal' },
          // A call that makes another one is told by that.
          { id: 'e', parent: 'a', kind: 'client', target: target('database', 'elasticsearch') },
          { id: 'f', parent: 'e', kind: 'client', target: target('other', 'search:9200') },
          { id: 'g', parent: 'a', kind: 'client', target: target('other', 'api.example') },
          { id: 'h', parent: 'g', service: 'api' },
          { id: 'i', parent: 'a', kind: 'client' },
          { id: 'j', parent: 'a', kind: 'internal', target: target('other', 'nobody') },
        ]),
      ),
    ).to.deep.equal([
      'service/web -> database/postgresql/orders: 2 calls, 1 errors, 2 told by caller',
      'service/web -> other/search:9200: 1 calls, 0 errors, 1 told by caller',
      'service/web -> service/api: 1 calls, 0 errors, 0 told by caller',
    ])
  })

  it('takes a name for that of a service which has sent spans, but for its own', async () => {
    const spans: readonly Given[] = [
      { id: 'a' },
      { id: 'b', parent: 'a', kind: 'client', target: target('other', 'api'), isError: true },
      { id: 'c', parent: 'a', kind: 'client', target: target('other', 'web') },
      { id: 'd', parent: 'a', kind: 'client', target: target('database', 'api') },
    ]
    expect(await told(trace(spans), trace([{ id: 'a', traceId: 'u', service: 'api' }]))).to.deep.equal([
      'service/web -> service/api: 1 calls, 1 errors, 1 told by caller',
      'service/web -> database/api: 1 calls, 0 errors, 1 told by caller',
    ])
  })

  describe('of messages', () => {
    const orders = target('queue', 'kafka/orders')
    const send = { id: 'send', kind: 'producer', target: orders } as const
    const work = { id: 'work', traceId: 'u', service: 'mailer', kind: 'consumer', target: orders } as const

    it('leads from who sent one to who works on it: below it, by a link, or both, once', async () => {
      const sent = trace([send])
      const once = ['service/web -> service/mailer: 1 calls, 0 errors, 0 told by caller']
      expect(await told(sent, trace([{ ...work, links: ['t/send', 'x/y'] }]))).to.deep.equal(once)
      expect(await told(trace([send, { ...work, traceId: 't', parent: 'send', links: ['t/send'] }]))).to.deep.equal(
        once,
      )
      expect(await told(trace([{ ...work, links: ['t/send'] }]), sent), 'in any order').to.deep.equal(once)
    })

    it('leads to and from the queue where the other is not known', async () => {
      expect(await told(trace([send]), trace([work, { ...work, id: 'again', links: ['x/y'] }]))).to.deep.equal([
        'service/web -> queue/kafka/orders: 1 calls, 0 errors, 1 told by caller',
        'queue/kafka/orders -> service/mailer: 2 calls, 0 errors, 0 told by caller',
      ])
    })

    it('leads from the queue to who asks it for messages, unless a span below works on one that is known', async () => {
      const asked = { ...orders, isAskedForMessages: true }
      const ask = { id: 'ask', traceId: 'u', service: 'mailer', kind: 'client', target: asked } as const
      expect(await told(trace([ask]))).to.deep.equal([
        'queue/kafka/orders -> service/mailer: 1 calls, 0 errors, 0 told by caller',
      ])
      expect(await told(trace([send]), trace([ask, { ...work, parent: 'ask', links: ['t/send'] }]))).to.deep.equal([
        'service/web -> service/mailer: 1 calls, 0 errors, 0 told by caller',
      ])
    })

    it('takes a link of another kind of span for no call, and a consumer of no known queue for a beginning', async () => {
      const { nodes, edges } = await serviceGraph([
        trace([{ id: 'a' }, { id: 'b', service: 'api', links: ['t/a'] }]),
        trace([{ id: 'c', traceId: 'u', service: 'mailer', kind: 'consumer' }]),
      ])
      expect(edges).to.deep.equal([])
      expect(nodes.map(({ begins }) => begins)).to.deep.equal([1, 1, 1])
    })

    it('keeps a parent missing beside a link that is known', async () => {
      expect(await told(trace([send]), trace([{ ...work, parent: 'lost', links: ['t/send'] }]))).to.have.members([
        'missing/ -> service/mailer: 1 calls, 0 errors, 0 told by caller',
        'service/web -> service/mailer: 1 calls, 0 errors, 0 told by caller',
      ])
    })
  })

  it('is made in turns: others go on meanwhile', async () => {
    const deep = Array.from({ length: 1_000 }, (_, n): Given => ({ id: `${n}`, parent: `${n - 1}`, service: `s${n}` }))
    const traces = Array.from({ length: 100 }, (_, n) => trace(deep.map((each) => ({ ...each, traceId: `t${n}` }))))
    expect(await turnsOf(() => serviceGraph(traces))).to.be.at.least(2)
  })

  it('is none of nothing, and bears spans that are their own parents or go in a circle', async () => {
    expect(await serviceGraph([])).to.deep.equal({ nodes: [], edges: [] })
    const circle = [
      { id: 'a', parent: 'b' },
      { id: 'b', parent: 'a', service: 'api' },
      { id: 'c', parent: 'c' },
    ]
    expect(await told(trace(circle))).to.deep.equal([
      'service/api -> service/web: 1 calls, 0 errors, 0 told by caller',
      'service/web -> service/api: 1 calls, 0 errors, 0 told by caller',
    ])
  })
})
