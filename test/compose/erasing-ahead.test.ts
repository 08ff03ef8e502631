import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { createDecoder } from '#projections/folding/decoded-event.ts'
import { openLane } from '#projections/folding/lane.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { storedDays } from '#projections/stores/sqlite/known-days.ts'
import { createSqliteIndexWriter } from '#projections/stores/sqlite/writing/writer.ts'
import { erasingAhead } from '#src/compose/threads/erasing-ahead.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { readCurrent } from '#streams/follow.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { acme, lineEntry, other, write } from '../support/index-fixture.ts'
import { counting, lineDecoders, lineEvent } from '../support/line-projections.ts'
import { rejection } from '../support/read-all.ts'
import { digestsIn, limits, openSqliteFixture, type SqliteFixture } from '../support/sqlite-fixture.ts'

describe('folding into an index whose disk is full', () => {
  let given: SqliteFixture
  let writer: IndexWriter
  const stream = createMemoryStream({ partition: '0' })
  const full = new TransientError({ operation: 'write to', subject: 'a folder', hint: 'its disk is full' })
  const waiting = { write: () => Promise.reject(full) }
  const isThere = (workspaceId = acme): boolean => existsSync(given.dayFile().replace(acme, workspaceId))

  beforeEach(async () => {
    given = await openSqliteFixture()
    await write(given.writer, [lineEntry({}, 1)], 1)
    await write(given.writer, [lineEntry({}, 1)], 1, other)
    writer = erasingAhead({ ...given.writer, ...waiting }, { indexFolder: given.folder, stream })
  })
  afterEach(async () => {
    await given.writer.close()
    given.remove()
  })

  it('waits, and removes what the log says further on is erased: that may be what gives room', async () => {
    expect(dirname(given.dayFile())).to.include(acme)
    expect(await rejection(write(writer, [lineEntry({}, 2)], 2, other))).to.equal(full)
    expect([isThere(), isThere(other)]).to.deep.equal([true, true])
    await stream.append([sealErasure(acme, { at: 1, unique: '1'.repeat(32) })])
    expect(await rejection(write(writer, [lineEntry({}, 2)], 2, other))).to.equal(full)
    expect([isThere(), isThere(other)]).to.deep.equal([false, true])
  })
})

describe('a build from which a workspace was erased ahead of its turn', () => {
  const index = 'counting-v1-001'
  const erased = workspaceIdOf('acme')
  const letters = ['a', 'b', 'a', 'c']
  const linesOf = (workspace: string, from: number) =>
    Array.from({ length: 12 }, (_, n) => lineEvent(from + n, [letters[n % 4] ?? ''], workspace))
  const mixed = (from: number) => {
    const theirs = linesOf('other', from + 12)
    return linesOf('acme', from).flatMap((event, n) => [event, ...theirs.slice(n, n + 1)])
  }
  const stream = createMemoryStream({ partition: '0' })
  const full = new TransientError({ operation: 'write to', subject: 'a folder', hint: 'its disk is full' })

  /** All that a build holds in the end, in which the erasure was carried out after so many batches of two events. */
  async function built(aheadAfter: number) {
    const folder = mkdtempSync(join(tmpdir(), 'throughline-erased-ahead-'))
    let own = createSqliteIndexWriter({ folder, limits, syncEveryMs: 0 })
    let isFull = false
    const onDisk = (): IndexWriter => ({
      ...own,
      write: (...given) => (isFull ? Promise.reject(full) : own.write(...given)),
    })
    const decode = createDecoder(lineDecoders)
    const deadLetters = createDeadLetters({ stream, clock: () => 0 })
    const open = () =>
      openLane(counting, index, {
        writer: erasingAhead(onDisk(), { indexFolder: folder, stream }),
        epoch: stream.epoch,
        clock: () => 0,
        limits: { cachedDocumentsMax: 10, cachedBytesMax: 1e6 },
        decode,
        deadLetters,
      })
    let lane = await open()
    const events = (await readCurrent(stream, beforeAll, 1_000)).map(decode)
    try {
      for (let at = 0; at < events.length; at += 2) {
        const batch = events.slice(at, at + 2)
        const to = batch.at(-1)?.event.position ?? 0
        if (at === 2 * aheadAfter) {
          isFull = true
          expect(await rejection(lane.fold(batch, to))).to.equal(full)
          isFull = false
          const isThere = storedDays(folder, index).some(({ workspaceId }) => workspaceId === erased)
          expect(isThere, 'what came after the erasure').to.equal(aheadAfter > 12)
          // As where the server is started again before the fold has come to the erasure.
          if (aheadAfter % 2 === 1) {
            await own.close()
            own = createSqliteIndexWriter({ folder, limits, syncEveryMs: 0 })
            lane = await open()
          }
        }
        await lane.fold(batch, to)
        await lane.heartbeat(to)
      }
      const held = []
      for (const { workspaceId, day } of storedDays(folder, index)) {
        held.push([workspaceId, day, await digestsIn(folder, { build: index, workspaceId, onDay: day })])
      }
      return held
    } finally {
      await own.close()
      rmSync(folder, { recursive: true })
    }
  }

  it('is in the end the one of a fold that met its erasure in its turn, also where more was received after it', async () => {
    const erasure = sealErasure(erased, { at: 1, unique: '1'.repeat(32) })
    await stream.append([...mixed(0), erasure, ...mixed(24)])
    const plain = await built(Number.POSITIVE_INFINITY)
    expect(new Set(plain.map(([workspaceId]) => workspaceId))).to.deep.equal(new Set(['acme', 'other']))
    for (const batches of [1, 2, 5, 8, 11, 12, 15, 22])
      expect(await built(batches), `after ${batches}`).to.deep.equal(plain)
  })
})
