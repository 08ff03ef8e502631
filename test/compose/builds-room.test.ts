import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { rebuild } from '#projections/builds/rebuild.ts'
import { verify } from '#projections/builds/verify.ts'
import type { OpenBuilds } from '#src/cli/services.ts'
import { openBuilds } from '#src/compose/builds.ts'
import { createFilesWriter } from '#src/compose/places.ts'
import { foldersOf } from '#src/compose/folders.ts'
import { limits } from '#src/config.ts'
import { noCounts } from '#src/events/envelope.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { lineEntry, openFixture, write } from '../support/index-fixture.ts'
import { digestsIn } from '../support/sqlite-fixture.ts'
import { makeFirstRun } from '../support/first-run.ts'
import { makeEvent } from '../support/make-event.ts'
import { rejection } from '../support/read-all.ts'

describe('what a full disk has given up, and a rebuild', () => {
  let dataFolder: string
  let context: OpenBuilds
  const reserve = (): string => join(dataFolder, 'reserve')
  const logs = () => context.projections.filter(({ name }) => name === 'logs')
  const builds = async (): Promise<readonly string[]> => {
    const writer = context.index.writer()
    const stored = await writer.builds('logs')
    await writer.close()
    return stored.map(({ index }) => index)
  }
  const full = (): string => `write to ${dataFolder} (its disk is full: free some space)`

  beforeEach(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), 'throughline-builds-room-'))
    const { logFolder, log } = foldersOf(dataFolder)
    mkdirSync(logFolder)
    await makeFirstRun(dataFolder)
    const stream = await createSqliteStream({ ...log, thread: false, limits })
    const payload = Buffer.from('[{"message":"one line"}]')
    const counts = { ...noCounts, logs: 1, bytes: payload.length }
    await stream.append([makeEvent('one', { payload, counts, type: 'logs.received', contentType: 'application/json' })])
    await stream.close()
    writeFileSync(reserve(), 'room')
    context = await openBuilds(dataFolder)
  })
  afterEach(async () => {
    await context.close()
    rmSync(dataFolder, { recursive: true })
  })

  it('is not for a build: none is begun', async () => {
    truncateSync(reserve())
    const timers = { ...context.timers, pause: async () => undefined }
    const refused = await rejection(rebuild({ ...context, timers }, logs()))
    expect(refused).to.be.instanceOf(TransientError).with.property('message', full())
    expect(await builds()).to.deep.equal([])
  })

  it('is not for one that is under way either, which goes on from there once there is room', async () => {
    const index = {
      ...context.index,
      fold: ((...given) => {
        truncateSync(reserve())
        return context.index.fold(...given)
      }) satisfies OpenBuilds['index']['fold'],
    }
    expect(await rejection(rebuild({ ...context, index }, logs()))).to.have.property('message', full())
    writeFileSync(reserve(), 'room')
    const [done] = await rebuild(context, logs())
    expect(done).to.include({ outcome: 'moved' })
    expect(await builds()).to.deep.equal([done?.index])
  })

  it('is not for what an index is compared with', async () => {
    const [done] = await rebuild(context, logs())
    truncateSync(reserve())
    const target = [{ projection: 'logs', index: done?.index ?? '' }]
    expect(await rejection(verify(context, target))).to.have.property('message', full())
    expect(readdirSync(join(dataFolder, 'scratch'))).to.deep.equal([])
  })

  it('is not for the rest of a batch either, during which the disk has got full', async () => {
    const folder = join(dataFolder, 'index')
    mkdirSync(folder, { recursive: true })
    let [now, fullAt] = [0, Number.POSITIVE_INFINITY]
    const ticks = (): number => {
      if (++now >= fullAt) truncateSync(reserve())
      return 1_000 * now
    }
    const writer = createFilesWriter({ folder, limits: { indexFilesOpenMax: 8 } }, { dataFolder, use: 'folded' }, ticks)
    await openFixture(writer)
    fullAt = now + 2
    const failure = await rejection(write(writer, [lineEntry({}, 1)], 1))
    await writer.close()
    expect(failure).to.have.property('message', full())
    expect((await digestsIn(folder)).every(({ entries }) => entries === 0)).to.equal(true)
  })
})
