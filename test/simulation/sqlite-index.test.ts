import { expect } from 'chai'
import type { IndexWriter } from '#projections/index-store.ts'
import { withSeenEvents } from '#projections/folding/seen-events.ts'
import { recordId, type Entry } from '#projections/projection.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { counting } from '#test/support/line-projections.ts'
import type { SimulatedIndex } from './simulated-index.ts'
import { createSqliteSimulatedIndex } from './sqlite-index.ts'

const build = 'counting-v1-001'
const epoch = 'simulated'
const day = '2026-11-21'
const [one, another] = [workspaceIdOf('one'), workspaceIdOf('another')]

const said = (
  workspaceId: WorkspaceId,
  position: number,
): Readonly<{ workspaceId: WorkspaceId; entries: Entry[] }> => ({
  workspaceId,
  entries: [{ collection: 'said', id: recordId(1n, String(position), 0), day, document: { message: 'm' }, position }],
})

describe('simulation on SQLite files', () => {
  let index: SimulatedIndex
  beforeEach(() => {
    // Of its places each file falls back to the oldest.
    index = createSqliteSimulatedIndex({ below: () => 0 })
  })
  afterEach(() => index.remove())

  const opened = async (between = async (): Promise<void> => {}, share?: string): Promise<IndexWriter> => {
    const writer = index.open(between, share)
    await writer.open(build, withSeenEvents(counting), epoch)
    return writer
  }
  const positionIn = async (workspaceId: WorkspaceId): Promise<number> => {
    const audit = index.audit()
    const frozen = await audit.freeze(build, { workspaceId, day })
    await frozen.release()
    await audit.close()
    return frozen.position
  }

  for (const share of [undefined, '0 of 2']) {
    it(`a power cut takes back nothing that was synced when ${share === undefined ? 'a writer' : 'a writer of a share'} was closed`, async () => {
      const writer = await opened(undefined, share)
      for (const position of [4_096, 8_192]) await writer.write(build, [said(one, position)], { epoch, position })
      await writer.close()
      await index.cutPower()
      const { position } = await (await opened(undefined, share)).checkpoint(build)
      expect({ safe: position, stored: await positionIn(one) }).to.deep.equal({ safe: 8_192, stored: 8_192 })
    })
  }

  it('a power cut takes back what nobody has synced', async () => {
    const writer = await opened()
    for (const position of [4_096, 8_192]) await writer.write(build, [said(one, position)], { epoch, position })
    await index.cutPower()
    const { position } = await (await opened()).checkpoint(build)
    expect({ safe: position, stored: await positionIn(one) }).to.deep.equal({ safe: 0, stored: 4_096 })
  })

  it('no batch is told to be safe before all of it is written', async () => {
    const told: number[] = []
    const writer = await opened(async () => {
      await writer.heartbeat(build, { position: 0, head: 4_096, at: 10_000, caughtUpAt: 0 })
      told.push((await writer.checkpoint(build)).position)
    })
    await writer.write(build, [said(one, 4_096), said(another, 4_096)], { epoch, position: 4_096 })
    await writer.heartbeat(build, { position: 4_096, head: 4_096, at: 20_000, caughtUpAt: 0 })
    told.push((await writer.checkpoint(build)).position)
    expect(told).to.deep.equal([0, 4_096])
  })
})
