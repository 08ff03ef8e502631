import { expect } from 'chai'
import type { BuildContext } from '#projections/builds/build-place.ts'
import type { Fingerprint, FrozenPart, IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { recordId, type Collection, type Projection } from '#projections/projection.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import { words } from '#src/events/tokens.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { counting, failingOn, lineDecoders, lineEvent } from '#test/support/line-projections.ts'
import { start } from '#test/support/projector-run.ts'
import { foldLive } from '#test/support/random-log.ts'

type Said = Readonly<{ message: string; times: number }>
const latest: Collection<Said> = {
  name: 'latest',
  kind: 'record',
  lookbackDays: 1,
  fields: { message: 'tokens' },
  searchable: ({ message }) => ({ timeNs: 0n, fields: { message: words(message).join(' ') } }),
}

/** `counting`, and beside it each line as a record that the next one like it replaces, from whatever day. */
const replacing: Projection = {
  ...counting,
  collections: { ...counting.collections, latest },
  fold(event, documents) {
    counting.fold(event, documents)
    for (const { message } of event.logs()) {
      const id = recordId(0n, message, 0)
      documents.put({ collection: latest, id }, { message, times: event.event.position }, { replaces: true })
    }
  },
}

/** What is read of an index, changed. */
type Change = (collection: string, print: Fingerprint) => Fingerprint | undefined

/** An engine that cannot tell one write from the next: nobody knows what of the later events is in its parts. */
function inexact(audit: IndexAudit, change: Change): IndexAudit {
  const changed = (part: FrozenPart): FrozenPart => ({
    ...part,
    exact: false,
    digests: async () => (await part.digests()).map((digest) => ({ ...digest, content: 'not the same' })),
    async *fingerprints(collection) {
      for await (const print of part.fingerprints(collection)) {
        const seen = change(collection, print)
        if (seen !== undefined) yield seen
      }
    },
  })
  return { ...audit, freeze: async (index, part) => changed(await audit.freeze(index, part)) }
}

describe('verify, where parts hold more than they say', () => {
  let stream: Stream
  let store: MemoryIndexStore
  let context: BuildContext
  let position = 0

  const append = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++)
      await stream.append([lineEvent(n, [`line ${n % 7}`], n % 2 === 0 ? 'acme' : 'other')])
  }
  /** Folds on, and is killed in the middle of a batch, before it has said how far it came. */
  const foldOn = async (): Promise<void> => {
    let left = 2
    const killed: IndexWriter = {
      ...store.writer,
      heartbeat: async () => {},
      async write(index, entries, checkpoint) {
        const unsaid = { ...checkpoint, position: 0 }
        if (left-- > 0) return store.writer.write(index, entries, unsaid)
        await store.writer.write(index, entries.slice(0, 1), unsaid)
        throw new Error('killed')
      },
    }
    await start({ stream, writer: killed, projections: [replacing] }).ended.catch(() => {})
  }
  beforeEach(async () => {
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
    context = memoryContext({ stream, projections: [replacing] }, store)
    // From both sides of midnight: what follows replaces records of the day before.
    await append(1, 33)
    await foldLive(context)
    position = await stream.head()
    await append(33, 100)
    await foldOn()
  })

  const verdictOf = async (change: Change = (_collection, print) => print): Promise<Verdict> => {
    const { index } = context
    const seen: BuildContext = { ...context, index: { ...index, audit: () => inexact(index.audit(), change) } }
    return (await verify(seen, await liveBuilds(seen, ['counting'])))[0] as Verdict
  }
  const named = async (wanted: Change): Promise<unknown> => {
    const { differences, equal, workspaces } = await verdictOf(wanted)
    expect(equal).to.equal(differences.length === 0)
    expect(workspaces.reduce((sum, { different }) => sum + different, 0)).to.equal(differences.length)
    return differences.map(({ collection, id }) => `${collection} ${id}`)
  }
  /** The first entry that fits, changed: its name, and the change. */
  const once = (
    fits: (collection: string, print: Fingerprint) => boolean,
    to: (print: Fingerprint) => Fingerprint | undefined,
  ) => {
    let found: string | undefined
    const change: Change = (collection, print) => {
      if (found !== undefined || !fits(collection, print)) return print
      found = `${collection} ${print.id}`
      return to(print)
    }
    return { change, found: () => found }
  }

  it('judges an index by the positions of its entries, whatever of the later events is in it', async () => {
    const later = store.dump('counting-v1-001').filter(({ entry }) => entry.position > position)
    expect(new Set(later.map(({ entry }) => entry.collection))).to.include.members(['counters', 'said', 'latest'])
    expect(later.length).to.be.above(10)
    const verdict = await verdictOf()
    expect(verdict.differences).to.deep.equal([])
    expect(verdict.equal).to.equal(true)
  })

  it('judges what is gone without the events that nobody has decided on, which no index is beyond', async () => {
    await stream.append([lineEvent(200, ['poison'], 'acme'), lineEvent(201, ['poison'], 'other')])
    context = memoryContext({ stream, projections: [replacing], decoders: failingOn('poison') }, store)
    expect(await verdictOf()).to.include({ equal: true })
    const told = { position: await stream.head(), head: await stream.head(), at: Date.now(), caughtUpAt: 0 }
    await store.writer.heartbeat('counting-v1-001', told)
    const failure: unknown = await verdictOf().catch((error: unknown) => error)
    expect(String(failure), 'of an index that says it is beyond').to.match(/cannot read poison \(nobody has decided/)
  })

  it('ends at such an event where an entry is of a later one, and not where another workspace has one', async () => {
    const idOf = (workspace: string): string | undefined =>
      store
        .dump('counting-v1-001')
        .find(({ workspaceId, entry }) => workspaceId === workspace && entry.collection === 'said')?.entry.id
    const [missing, moved] = [idOf('acme'), idOf('other')]
    const verdictWith = async (poisoned: string): Promise<unknown> => {
      await stream.append([lineEvent(200, ['poison'], poisoned), lineEvent(201, ['line'], 'other')])
      const head = await stream.head()
      context = memoryContext({ stream, projections: [replacing], decoders: failingOn('poison') }, store)
      return named((_collection, print) => {
        if (print.id === missing) return undefined
        return print.id === moved ? { ...print, position: head, hash: 'moved' } : print
      })
    }
    expect(await verdictWith('acme')).to.have.members([`said ${missing}`, `said ${moved}`])
    const failure: unknown = await verdictWith('other').catch((error: unknown) => error)
    expect(String(failure)).to.match(/cannot read poison \(nobody has decided/)
  })

  /** Of eight workspaces, one record of each gone, beside what a log holds behind the checkpoint; `read`: how much of that was. */
  const verdictOfMany = async (line: (n: number) => string, decoders = lineDecoders) => {
    const many = Array.from({ length: 8 }, (_, n) => `one-${n}`)
    const appendAll = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++)
        for (const [at, workspace] of many.entries()) await stream.append([lineEvent(n * 8 + at, [line(n)], workspace)])
    }
    stream = createMemoryStream({ partition: '0' })
    store = createMemoryIndexStore()
    context = memoryContext({ stream, projections: [replacing] }, store)
    await appendAll(0, 4)
    await foldLive(context)
    position = await stream.head()
    await appendAll(4, 40)
    const backlog = 36 * many.length
    let read = 0
    const counted: Stream = {
      ...stream,
      read: async (...given) => {
        const events = await stream.read(...given)
        read += events.filter((event) => event.position > position).length
        return events
      },
    }
    context = memoryContext({ stream: counted, projections: [replacing], decoders }, store)
    const said = store.dump('counting-v1-001').filter(({ entry }) => entry.collection === 'said')
    const gone = new Map(said.map(({ workspaceId, entry }) => [workspaceId, entry.id]))
    const ids = new Set(gone.values())
    const { differences } = await verdictOf((collection, print) =>
      collection === 'said' && ids.has(print.id) ? undefined : print,
    )
    const named = new Map(differences.map(({ workspaceId, id }) => [workspaceId, id]))
    expect(named).to.deep.equal(gone)
    expect(differences).to.have.length(many.length)
    return { read, backlog }
  }

  it('reads the rest of the log once, whoever misses a record', async () => {
    const { read, backlog } = await verdictOfMany((n) => `line ${n}`)
    expect(read).to.be.below(1.5 * backlog)
  })

  it('reads it once where each workspace ends before an event on which nobody has decided', async () => {
    const { read, backlog } = await verdictOfMany((n) => (n === 30 ? 'poison' : `line ${n}`), failingOn('poison'))
    expect(read).to.be.below(1.5 * backlog)
  })

  const cases: Readonly<Record<string, ReturnType<typeof once>>> = {
    'is another, of a later event': once(
      (_collection, print) => print.position > position,
      (print) => ({ ...print, hash: 'another' }),
    ),
    'is another': once(
      (_collection, print) => print.position <= position,
      (print) => ({ ...print, hash: 'another' }),
    ),
    'is of no event': once(
      (collection) => collection === 'counters',
      (print) => ({ ...print, position: 1e12, hash: 'made up' }),
    ),
    'is a document that is gone': once(
      (collection) => collection === 'counters',
      () => undefined,
    ),
    'is a record that is gone': once(
      (collection, print) => collection === 'said' && print.position <= position,
      () => undefined,
    ),
  }
  for (const [what, { change, found }] of Object.entries(cases)) {
    it(`names an entry that ${what}`, async () => {
      expect(await named(change)).to.deep.equal([found()])
    })
  }
})
