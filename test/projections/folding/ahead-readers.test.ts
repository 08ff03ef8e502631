import { expect } from 'chai'
import type { Ahead, IndexWriter, StoredBuild } from '#projections/index-store.ts'
import { changeRoster, claim, nominate } from '#projections/rosters/roster.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { positionStep } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { counting, lineEvent } from '#test/support/line-projections.ts'
import { atHead, start } from '#test/support/projector-run.ts'
import { liveOf } from '#test/support/promote.ts'

const [acme, third] = ['acme', 'third'].map(workspaceIdOf) as [WorkspaceId, WorkspaceId]

describe('the projector, beside another that is ahead', () => {
  const index = 'counting-v1-001'
  const backlog = (from: number, count: number) =>
    Array.from({ length: count }, (_, n) => lineEvent(from + n, ['a', 'b', 'c']))

  const another: Readonly<Record<string, (at: number, build: StoredBuild) => Partial<StoredBuild>>> = {
    'told more of some workspaces': (at, { heartbeat }) => ({
      heartbeat: {
        ...heartbeat,
        position: at,
        ahead: { position: at + positionStep, caughtUpAt: 0, behind: new Map() },
      },
    }),
    'written more, and not told of it yet': (at, { heartbeat }) => ({
      checkpoint: at + positionStep,
      heartbeat: { ...heartbeat, position: at },
    }),
  }
  for (const [what, furtherThan] of Object.entries(another)) {
    it(`does not take readers back when another projector has ${what}`, async () => {
      const stream = createMemoryStream({ partition: '0' })
      const store = createMemoryIndexStore()
      const second = 'counting-v1-002'
      await stream.append(backlog(1, 3))
      const before = start({ stream, writer: store.writer })
      await before.until(await atHead(stream))
      await before.stop()
      await store.writer.open(second, withSeenEvents(counting), stream.epoch)
      await changeRoster(store.writer, 'counting', nominate(second))
      const at = await stream.head()
      const moved: (string | undefined)[] = []
      let isOpen = false
      const writer: IndexWriter = {
        ...store.writer,
        heartbeat(...told) {
          isOpen = true
          return store.writer.heartbeat(...told)
        },
        // As of one that has read what comes next before this one does, tells it and sleeps.
        builds: async (projection) =>
          (await store.writer.builds(projection)).map((build) =>
            isOpen && build.index === index ? { ...build, ...furtherThan(at, build) } : build,
          ),
        changeRoster: async (projection, roster) => {
          moved.push(roster.live)
          return store.writer.changeRoster(projection, roster)
        },
      }
      const run = start({ stream, writer })
      await run.until(({ position }, name) => name === second && position >= at)
      run.tick()
      await run.until(({ at: told }) => told > 1_000_000)
      expect(moved).to.not.include(second)
      await stream.append([lineEvent(100, ['x'], 'small')])
      await run.until(({ position }) => position > at)
      run.tick()
      await run.until(({ at: told }) => told > 1_001_000)
      expect(await liveOf(store.writer, 'counting')).to.equal(second)
      await run.stop()
    })
  }

  const waitingFor = (...workspaces: readonly WorkspaceId[]): Ahead['behind'] =>
    new Map(workspaces.map((workspaceId) => [workspaceId, 0]))
  /** What another projector is said to have folded ahead of a position, from which this one is ahead but for two; and whether readers move. */
  const besides: Readonly<Record<string, Readonly<{ ahead: (at: number) => Ahead; moves: boolean }>>> = {
    'and further for who need not wait': {
      ahead: (at) => ({ position: at + 1_000 * positionStep, caughtUpAt: 0, behind: waitingFor(acme, third) }),
      moves: false,
    },
    'also for one who waits in this one': {
      ahead: (at) => ({ position: at + positionStep, caughtUpAt: 0, behind: waitingFor(third) }),
      moves: false,
    },
    'for the same, and no further': {
      ahead: (at) => ({ position: at + positionStep, caughtUpAt: 0, behind: waitingFor(acme, third) }),
      moves: true,
    },
  }
  for (const [what, { ahead, moves }] of Object.entries(besides)) {
    it(`${moves ? 'takes' : 'does not take'} readers to a build that is ahead where another projector is ahead ${what}`, async () => {
      const stream = createMemoryStream({ partition: '0' })
      const store = createMemoryIndexStore()
      const second = 'counting-v1-002'
      for (const name of [index, second]) await store.writer.open(name, withSeenEvents(counting), stream.epoch)
      await changeRoster(store.writer, 'counting', claim(index))
      await changeRoster(store.writer, 'counting', nominate(second))
      await stream.append(backlog(1, 1))
      let head = Infinity
      const reached = async (): Promise<number> => (await store.writer.checkpoint(second)).position
      const movedAt: number[] = []
      let isOpen = false
      const writer: IndexWriter = {
        ...store.writer,
        heartbeat(...told) {
          isOpen = true
          return store.writer.heartbeat(...told)
        },
        builds: async (projection) => {
          const [builds, at] = [await store.writer.builds(projection), await reached()]
          if (!isOpen || at >= head) return builds
          return builds.map((build) => ({ ...build, heartbeat: { ...build.heartbeat, ahead: ahead(at) } }))
        },
        changeRoster: async (projection, roster) => {
          if (roster.live === second) movedAt.push(await reached())
          return store.writer.changeRoster(projection, roster)
        },
      }
      const run = start({ stream, writer })
      await run.until(({ position }, name) => name === second && position > 0)
      run.tick()
      await run.until(({ at: told }) => told > 1_000_000)
      expect(movedAt, 'while this one is not ahead').to.deep.equal([])
      const ofBoth = backlog(2, 60).flatMap((event, n) => [event, lineEvent(n, ['a', 'b', 'c'], third)])
      await stream.append([...ofBoth, lineEvent(100, ['x'], 'small')])
      head = await stream.head()
      await run.until(({ position }, name) => name === second && position >= head)
      await run.stop()
      expect(movedAt.some((position) => position < head)).to.equal(moves)
    })
  }
})
