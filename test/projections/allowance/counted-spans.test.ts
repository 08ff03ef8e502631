import { expect } from 'chai'
import { createCountedSpans } from '#projections/allowance/counted-spans.ts'
import { allowanceProjection } from '#projections/allowance/fold.ts'
import { usageCollection, type UsageOfDay } from '#projections/allowance/usage-document.ts'
import { heartbeatMaxMs, type IndexReader, type MissedDay, type Progress } from '#projections/index-store.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { promote } from '#test/support/promote.ts'

const acme = workspaceIdOf('acme')
const index = 'allowance-v1-001'

const none = async (): Promise<boolean> => false

describe('spans counted by the projection', () => {
  const usage = (spans: number): UsageOfDay => ({
    day: '2026-11-21',
    month: '2026-11',
    total: { requests: 1, spans, logs: 0, rumEvents: 0, refusedSpans: 0, refusedRecords: 0, bytes: 1 },
    spanBytes: 1,
    refused: {},
    byKey: {},
    byService: {},
  })

  it('are told up to a position that a living projector has reached, and else not', async () => {
    const { writer, reader } = createMemoryIndexStore()
    let [leavesOut, now] = [false, 3_000]
    const counted = createCountedSpans({ reader, clock: () => now, leavesOut: async () => leavesOut })
    const ask = (position: number): Promise<number | undefined> => counted(acme, '2026-11', position)
    expect(await ask(0), 'no index yet').to.equal(undefined)
    await writer.open(index, allowanceProjection, 'epoch')
    await promote(writer, 'allowance', index)
    const entry = {
      collection: usageCollection.name,
      id: '2026-11-21',
      day: '2026-11-21',
      document: usage(7),
      position: 4096,
    }
    await writer.write(index, [{ workspaceId: acme, entries: [entry] }], { epoch: 'epoch', position: 8192 })
    const beat = (at: number) => writer.heartbeat(index, { position: 8192, head: 8192, at, caughtUpAt: at })
    await beat(1_000)
    expect(await ask(8192), 'what stands there may be of before a power cut').to.equal(undefined)
    await beat(2_000)
    expect(await ask(8192)).to.equal(7)
    expect(await ask(8193)).to.equal(undefined)
    const globex = workspaceIdOf('globex')
    expect(await counted(globex, '2026-11', 8192)).to.equal(0)
    const ahead = { position: 12_288, caughtUpAt: 3_000, behind: new Map([[acme, 8192]]) }
    await writer.heartbeat(index, { position: 8192, head: 12_288, at: 3_000, caughtUpAt: 2_000, ahead })
    expect(await ask(12_288), 'of one that waits in a backlog').to.equal(undefined)
    expect(await counted(globex, '2026-11', 12_288), 'of one that need not wait').to.equal(0)
    for (const other of [3_000 + heartbeatMaxMs + 1, 3_000 - heartbeatMaxMs - 1]) {
      now = other
      expect(await ask(8192), 'once no projector runs, by its last heartbeat').to.equal(undefined)
    }
    ;[leavesOut, now] = [true, 3_000]
    expect(await ask(8192), 'what was left out was spent too').to.equal(undefined)
  })

  it('are not told by a build whose fold began later than the log', async () => {
    const { writer, reader } = createMemoryIndexStore()
    const counted = createCountedSpans({ reader, clock: () => 2_000, leavesOut: none })
    await writer.open(index, allowanceProjection, 'epoch', 4096)
    await promote(writer, 'allowance', index)
    for (const at of [1_000, 2_000]) {
      await writer.heartbeat(index, { position: 8192, head: 8192, at, caughtUpAt: at })
      expect(await counted(acme, '2026-11', 8192)).to.equal(undefined)
    }
  })

  describe('of a build that has folded all', () => {
    const { writer, reader } = createMemoryIndexStore()
    const globex = workspaceIdOf('globex')
    /** What is told of the build beside how far it is. */
    let told: Partial<Progress> = {}
    let missed: readonly MissedDay[] = []
    let onSearch = (): void => {}
    const shown: IndexReader = {
      ...reader,
      progress: async (projection) => {
        const progress = await reader.progress(projection)
        return progress && { ...progress, ...told }
      },
      search: async <D extends object>(...asked: Parameters<IndexReader['search']>) => {
        onSearch()
        return reader.search<D>(...asked)
      },
    }
    const counted = createCountedSpans({ reader: shown, clock: () => 2_000, leavesOut: none, missed: () => missed })
    const ask = (month = '2026-11') => counted(acme, month, 8192)
    before(async () => {
      await writer.open(index, allowanceProjection, 'epoch')
      await promote(writer, 'allowance', index)
      for (const at of [1_000, 2_000]) {
        await writer.heartbeat(index, { position: 8192, head: 8192, at, caughtUpAt: at })
        await ask()
      }
    })
    beforeEach(async () => {
      ;[told, missed, onSearch] = [{}, [], () => {}]
      expect(await ask()).to.equal(0)
    })

    it('are not told where a day of the month is lost, or closed, of the workspace or of whichever', async () => {
      const day = '2026-11-20'
      for (const lost of [{ workspaceId: acme, day }, { day }, { day, isClosed: true } as const]) {
        told = { lostDays: [lost] }
        expect(await ask(), JSON.stringify(lost)).to.equal(undefined)
        expect(await ask('2026-12'), 'of the next month').to.equal(0)
      }
      told = { lostDays: [{ workspaceId: globex, day }] }
      expect(await ask(), 'of another workspace').to.equal(0)
    })

    it('are not told where a day is found missing that nobody has noted', async () => {
      missed = [{ workspaceId: acme, day: '2026-11-20' }]
      expect(await ask()).to.equal(undefined)
    })

    it('are not told where a day is lost, or readers move to another build, while they are counted', async () => {
      for (const then of [{ lostDays: [{ day: '2026-11-20' }] }, { index: 'allowance-v1-002' }]) {
        told = {}
        onSearch = () => (told = then)
        expect(await ask()).to.equal(undefined)
      }
    })

    it('are not told by a build of another version', async () => {
      told = { isOfAnotherVersion: true }
      expect(await ask()).to.equal(undefined)
    })
  })
})
