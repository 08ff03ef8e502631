import { expect } from 'chai'
import type { BuildContext } from '#projections/build-place.ts'
import type { Fingerprint, FrozenPart, IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { recordId, type Collection, type Projection } from '#projections/projection.ts'
import { createMemoryIndexStore, type MemoryIndexStore } from '#projections/stores/memory/store.ts'
import { liveBuilds, verify, type Verdict } from '#projections/verify.ts'
import { words } from '#src/events/tokens.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { memoryContext } from '#test/support/build-context.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
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
