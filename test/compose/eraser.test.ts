import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { createEraser, lent } from '#src/compose/eraser.ts'
import { isErasure } from '#src/events/erasure.ts'
import { partitionNumber } from '#src/events/partition.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { createManualTime } from '../support/projector-run.ts'
import { makeEvent } from '../support/make-event.ts'
import { idsOf, readAll } from '../support/read-all.ts'

const partitions = 2
const acme = workspaceIdOf('acme')
/** One that falls to the other partition. */
const far = Array.from({ length: 50 }, (_, n) => workspaceIdOf(`far-${n}`)).find(
  (id) => partitionNumber(id, partitions) !== partitionNumber(acme, partitions),
) as WorkspaceId

describe('the eraser of a process that folds', () => {
  let logs: readonly Stream[]
  let erased: { id: WorkspaceId; name: string; position: number }[]
  let mine: string[]
  let failures: unknown[]
  let opened: string[]
  let isAway: boolean
  let time: ReturnType<typeof createManualTime>
  let eraser: ReturnType<typeof createEraser>

  const logOf = (id: WorkspaceId): Stream => logs[partitionNumber(id, partitions)] as Stream
  const append = (id: WorkspaceId, name: string) => logOf(id).append([makeEvent(name, { workspaceId: id })])
  const left = async (id: WorkspaceId): Promise<string[]> =>
    idsOf((await readAll(logOf(id))).filter((event) => !isErasure(event)))
  /** What it does at the next ticks, to its end: it stops only then. */
  const tick = async (times = 1): Promise<void> => {
    for (let n = 0; n < times; n++) {
      time.tick()
      await eraser.stop()
      eraser.start()
    }
  }

  beforeEach(async () => {
    logs = ['0', '1'].map((partition) => createMemoryStream({ partition }))
    ;[erased, mine, failures, opened, isAway] = [[], ['0', '1'], [], [], false]
    time = createManualTime()
    eraser = createEraser({
      directory: { erasedWorkspaces: () => erased },
      folded: () => mine,
      partitions,
      openLog: async (partition) => {
        if (isAway) throw new Error('the log is away')
        opened.push(partition)
        return lent(present(logs[Number(partition)], 'each partition has a log'))
      },
      clock: time.clock,
      timers: time.timers,
      onFailure: (error) => failures.push(error),
    })
    await append(acme, 'one')
    await append(far, 'one')
    eraser.start()
  })
  afterEach(() => eraser.stop())

  it('opens no log while nothing is erased', async () => {
    await tick(3)
    expect(opened).to.deep.equal([])
  })

  it('erases what the directory says is no more, as soon as it says so', async () => {
    await tick()
    erased.push({ id: acme, name: 'acme', position: 1 })
    await tick()
    expect([await left(acme), await left(far)]).to.deep.equal([[], [`${far}.traces.one`]])
  })

  it('leaves the partitions of others alone, until they are its own', async () => {
    mine = [String(partitionNumber(far, partitions))]
    erased.push({ id: acme, name: 'acme', position: 1 }, { id: far, name: 'far', position: 2 })
    await tick()
    expect([await left(acme), await left(far)]).to.deep.equal([['acme.traces.one'], []])
    mine = ['0', '1']
    await tick()
    expect(await left(acme)).to.deep.equal([])
  })

  it('erases what comes late within a minute, and looks no sooner', async () => {
    erased.push({ id: acme, name: 'acme', position: 1 })
    await tick()
    await append(acme, 'late')
    await tick(30)
    expect(await left(acme)).to.deep.equal(['acme.traces.late'])
    await tick(31)
    expect(await left(acme)).to.deep.equal([])
    expect((await readAll(logOf(acme))).filter(isErasure)).to.have.length(2)
  })

  it('looks ever more rarely where nothing comes, each hour at least, and often again where something came', async () => {
    const log = logOf(acme) as { isLeft: Stream['isLeft'] }
    const { isLeft } = log
    let looks = 0
    log.isLeft = (id) => {
      looks++
      return isLeft(id)
    }
    const minutes = async (count: number): Promise<number> => {
      const before = looks
      for (let n = 0; n < count; n++) await tick(60)
      return looks - before
    }
    erased.push({ id: acme, name: 'acme', position: 1 })
    await tick()
    const first = await minutes(5)
    await minutes(5 * 60)
    const later = await minutes(5)
    expect(later).below(first)
    await append(acme, 'late')
    await minutes(61)
    expect(await left(acme)).to.deep.equal([])
    await append(acme, 'later')
    await minutes(2)
    expect(await left(acme)).to.deep.equal([])
  })

  it('looks often again where more came than goes at once, though nothing had come for long', async () => {
    erased.push({ id: acme, name: 'acme', position: 1 })
    for (let n = 0; n < 3 * 60; n++) await tick(60)
    const log = logOf(acme) as { isLeft: Stream['isLeft'] }
    const { isLeft } = log
    // Of the look, and of each of its five rounds.
    const more = Array.from({ length: 7 }, () => true)
    log.isLeft = async (id) => more.pop() ?? (await isLeft(id))
    while (more.length > 0) await tick(10)
    await tick(10)
    await append(acme, 'late')
    await tick(2 * 60)
    expect(await left(acme)).to.deep.equal([])
  })

  it('looks at once where a partition is its own again', async () => {
    erased.push({ id: acme, name: 'acme', position: 1 })
    await tick()
    mine = [String(partitionNumber(far, partitions))]
    await tick()
    await append(acme, 'late')
    mine = ['0', '1']
    await tick()
    expect(await left(acme)).to.deep.equal([])
  })

  it('does not keep a process from ending, and does the rest when it is started again', async () => {
    const log = logOf(acme) as { erase: Stream['erase'] }
    const { erase } = log
    const begun = Promise.withResolvers<void>()
    const broken = Promise.withResolvers<void>()
    log.erase = () => {
      begun.resolve()
      return broken.promise
    }
    erased.push({ id: acme, name: 'acme', position: 1 }, { id: far, name: 'far', position: 2 })
    time.tick()
    await begun.promise
    await eraser.stop()
    broken.reject(new Error('its log was closed'))
    log.erase = erase
    eraser.start()
    await tick(12)
    expect([await left(acme), await left(far)]).to.deep.equal([[], []])
  })

  it('goes on where it is started again before it has stopped', async () => {
    erased.push({ id: acme, name: 'acme', position: 1 })
    time.tick()
    const stopped = eraser.stop()
    eraser.start()
    await stopped
    await append(acme, 'late')
    for (let n = 0; n < 61; n++) time.tick()
    await eraser.stop()
    expect(await left(acme)).to.deep.equal([])
  })

  it('says what failed, and tries again in seconds', async () => {
    isAway = true
    erased.push({ id: acme, name: 'acme', position: 1 })
    await tick(3)
    expect(failures).to.have.length(1)
    isAway = false
    await tick(6)
    expect(await left(acme)).to.deep.equal([])
  })

  it('opens a log anew that could not be opened, without a stop between', async () => {
    isAway = true
    erased.push({ id: acme, name: 'acme', position: 1 })
    time.tick()
    while (failures.length === 0) await setImmediate()
    isAway = false
    for (let n = 0; n < 6; n++) time.tick()
    await eraser.stop()
    expect([failures.length, await left(acme)]).to.deep.equal([1, []])
  })
})
