import { expect } from 'chai'
import { sortableTime } from '#projections/traces/sortable-time.ts'
import { addRefusedSpans, addSpans, emptyPart, type TracePart } from '#projections/traces/trace-part.ts'
import { summarize, summarizeAcross } from '#projections/traces/trace-summary.ts'
import type { Span } from '#src/events/telemetry.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { givenSpan, msNs, noonNs, spanIdOf, traceIdOf } from './given.ts'

/** A document's parts, and what arrived for it: spans in their order, and refusals. */
type Made = Readonly<{ parts: readonly TracePart[]; spans: readonly Span[]; refused: readonly string[] }>

const idsMax = 60
const partsMax = 3

function randomSpan(random: Random): Span {
  return givenSpan({
    id: random.below(idsMax),
    parent: random.below(5) === 0 ? null : random.below(idsMax + 20),
    atMs: random.below(50),
    forMs: random.below(50),
    service: `service ${random.below(4)}`,
    sessionId: random.below(2) === 0 ? null : `visit ${random.below(5)}`,
    status: random.below(4) === 0 ? 'error' : 'ok',
  })
}

/** A document of a trace. A span that comes again goes to the part that it is in. */
function documentOf(random: Random, from: number): Made {
  const placeOf = new Map<string, number>()
  const spans = Array.from({ length: random.below(70) }, () => randomSpan(random))
  const parts = Array.from({ length: partsMax }, (_, number) => emptyPart(traceIdOf('t'), number))
  for (const [at, span] of spans.entries()) {
    const number = placeOf.get(span.spanId) ?? random.below(partsMax)
    placeOf.set(span.spanId, number)
    parts[number] = addSpans(parts[number] ?? emptyPart('', 0), [{ span, copies: 1 }], from + at)
  }
  const refused = Array.from({ length: random.below(6) }, () => spanIdOf(random.below(idsMax + 20)))
  const reason = 'rejected_allowance'
  const refusedSpans = refused.map((spanId) => ({ traceId: traceIdOf('t'), spanId, reason }) as const)
  if (parts[0] !== undefined) parts[0] = addRefusedSpans(parts[0], refusedSpans)
  return { parts, spans, refused }
}

/** The sums from all that arrived, in order: the last version of each span, and nothing clever. */
function plainly(documents: readonly Made[]) {
  const all = documents.flatMap(({ spans }) => spans)
  const last = new Map(all.map((span) => [span.spanId, span]))
  const spans = [...last.values()]
  const parents = new Set(spans.flatMap(({ parentSpanId }) => parentSpanId ?? []))
  const refused = new Set(documents.flatMap(({ refused }) => refused))
  const sorted = (times: readonly bigint[]): readonly bigint[] => times.toSorted((a, b) => (a < b ? -1 : 1))
  const starts = sorted(spans.map(({ startNs }) => startNs))
  const text = (time: bigint | undefined): string | null => time?.toString() ?? null
  const [root = null] = spans
    .filter(({ parentSpanId }) => parentSpanId === null)
    .sort((a, b) => Number(a.startNs - b.startNs) || (a.spanId < b.spanId ? -1 : 1))
  const counts = new Map<string, number>()
  for (const { service } of spans) counts.set(service, (counts.get(service) ?? 0) + 1)
  return {
    spanCount: spans.length,
    repeatedCount: all.length - spans.length,
    errorCount: spans.filter(({ status }) => status.code === 'error').length,
    startNs: text(starts[0]),
    lastStartNs: text(starts.at(-1)),
    endNs: text(sorted(spans.map(({ endNs }) => endNs)).at(-1)),
    missingParentCount: [...parents].filter((parent) => !last.has(parent)).length,
    rejectedSpanCount: [...refused].filter((id) => !last.has(id)).length,
    root: root?.spanId,
    services: Object.fromEntries(counts),
    sessions: [...new Set(spans.flatMap(({ sessionId }) => sessionId ?? []))].sort(),
  }
}

/** The newest first, a page at a time: of a page before, nothing can be read any more. */
async function* onceEach(documents: readonly Made[]): AsyncGenerator<readonly TracePart[]> {
  const parts = documents.flatMap(({ parts }) => parts).toReversed()
  for (let from = 0; from < parts.length; from += 2) {
    const page = parts.slice(from, from + 2).map((part) => Proxy.revocable(part, {}))
    yield page.map(({ proxy }) => proxy)
    for (const { revoke } of page) revoke()
  }
}

describe('traces: the sum of a trace of several documents', () => {
  it('is what a plain count finds, of one page of its parts at a time', async () => {
    const random = createRandom(1)
    for (let round = 0; round < 150; round++) {
      const documents = Array.from({ length: 2 + random.below(3) }, (_, at) => documentOf(random, at * 100))
      const { root, services, sessions, ...sum } = await summarizeAcross(onceEach(documents))
      const { startMovedAt: _startMovedAt, replaced: _replaced, partCount, ...counts } = sum
      expect(partCount).to.equal(documents.length * partsMax)
      expect({
        ...counts,
        root: root?.spanId,
        services: Object.fromEntries(services.map(({ name, spanCount }) => [name, spanCount])),
        sessions: sessions.toSorted(),
      }).to.deep.equal(plainly(documents))
    }
  })

  it('names its sessions in order of arrival', async () => {
    const documents = Array.from({ length: 3 }, (_, at) => {
      const spans = Array.from({ length: 60 }, (_, n) =>
        givenSpan({ id: `${at} ${n}`, sessionId: `visit ${at * 60 + n}` }),
      )
      const arrived = spans.map((span) => ({ span, copies: 1 }))
      return { parts: [addSpans(emptyPart(traceIdOf('t'), 0), arrived, at)], spans, refused: [] }
    })
    const { sessions } = await summarizeAcross(onceEach(documents))
    expect(sessions).to.deep.equal(Array.from({ length: 100 }, (_, n) => `visit ${n}`))
  })

  it('says where its spans stood before they came again, whichever part they are in', async () => {
    const partOf = (number: number, ...times: readonly number[]): TracePart =>
      times.reduce(
        (part, atMs, at) => {
          const span = givenSpan({ id: number, atMs, forMs: 10 })
          return addSpans(part, [{ span, copies: 1 }], 10 * number + at)
        },
        emptyPart(traceIdOf('t'), number),
      )
    const parts = [partOf(1, 30, 35), partOf(2, 20, 25), partOf(3, 40)]
    const time = (atMs: number): string => sortableTime(noonNs + BigInt(atMs) * msNs)
    const replaced = { position: 21, start: time(20), lastStart: time(30), end: time(40), errorCount: 0 }
    expect(summarize(parts).replaced).to.deep.equal(replaced)
    async function* page() {
      yield parts.toReversed()
    }
    expect((await summarizeAcross(page())).replaced).to.deep.equal(replaced)
  })
})
