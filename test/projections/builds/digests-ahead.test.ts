import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'chai'
import { afterEach, beforeEach, describe, it } from 'mocha'
import { withAudit, type BuildContext, type BuildPlace } from '#projections/builds/build-place.ts'
import { createDigestsAhead } from '#projections/builds/digests-ahead.ts'
import type { IndexAudit, Part } from '#projections/index-audit.ts'
import { liveBuilds, verify, type Verdict } from '#projections/builds/verify.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { sqliteContext } from '#test/support/build-context.ts'
import { appendRandom, foldLive } from '#test/support/random-log.ts'

describe('digests ahead of a comparison', () => {
  let folder: string
  let stream: Stream
  let context: BuildContext
  /** The parts that the other worker was asked for, and those that whoever compares has read. */
  let asked: string[]
  let readHere: string[]
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-ahead-'))
    stream = createMemoryStream({ partition: '0' })
    context = sqliteContext({ stream }, folder)
    await appendRandom(stream, 1, 40)
    await foldLive(context)
    ;[asked, readHere] = [[], []]
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const nameOf = ({ workspaceId, day }: Part): string => `${workspaceId}/${day}`
  /** As a thread reads it. */
  const readThere: NonNullable<BuildPlace['digests']> = (index, part) =>
    withAudit(context.index, async (audit) => {
      asked.push(nameOf(part))
      const frozen = await audit.freeze(index, part)
      const made = { position: frozen.position, digests: await frozen.digests() }
      await frozen.release()
      return made
    })
  /** Notes which parts it reads. */
  function auditHere(): IndexAudit {
    const audit = context.index.audit()
    const freeze: IndexAudit['freeze'] = async (index, part) => {
      const frozen = await audit.freeze(index, part)
      const digests = (): ReturnType<typeof frozen.digests> => {
        readHere.push(nameOf(part))
        return frozen.digests()
      }
      return { ...frozen, digests }
    }
    return { ...audit, freeze }
  }
  type Given = Readonly<{ digests?: BuildPlace['digests']; workers?: number; eventsPerSecondMax?: number }>
  async function verdictWith({ digests = readThere, workers = 2, ...options }: Given): Promise<Verdict> {
    const index = { ...context.index, audit: auditHere, digests }
    const targets = await liveBuilds(context, ['counting'])
    return (await verify({ ...context, workers, index }, targets, options))[0] as Verdict
  }
  const allParts = (): Promise<readonly string[]> =>
    withAudit(context.index, async (audit) => (await audit.parts('counting-v1-001')).map(nameOf))

  it('are compared where they are there, and each part is read once', async () => {
    const verdict = await verdictWith({})
    expect(verdict.equal).to.equal(true)
    expect([...asked, ...readHere]).to.have.members(await allParts())
    expect(asked).not.to.deep.equal([])
  })

  it('are not compared where they are of another position, or could not be made', async () => {
    const earlier = await verdictWith({
      digests: async (...of) => ({ position: (await readThere(...of)).position - 1, digests: [] }),
    })
    expect(earlier.equal).to.equal(true)
    expect(readHere).to.have.members(await allParts())
    const failing = await verdictWith({ digests: () => Promise.reject(new Error('no thread')) })
    expect(failing.equal).to.equal(true)
  })

  it('find what differs', async () => {
    const file = join(folder, 'counting-v1-001', ...((await allParts())[0] ?? '').split('/'))
    const database = new DatabaseSync(`${file}.db`)
    database.exec(`UPDATE r_counters SET n_lines = n_lines + 1`)
    database.close()
    expect((await verdictWith({})).equal).to.equal(false)
  })

  it('are not made where one worker does all, or where nobody waits', async () => {
    expect((await verdictWith({ workers: 1 })).equal).to.equal(true)
    expect((await verdictWith({ eventsPerSecondMax: 1e6 })).equal).to.equal(true)
    expect(asked).to.deep.equal([])
  })

  it('are made of what is wanted alone, and of no further part once they are not wanted any more', async () => {
    const [first = ''] = (await allParts()).map((name) => name.split('/')[0] ?? '')
    await withAudit(context.index, async (audit) => {
      const parts = await audit.parts('counting-v1-001')
      const begun = Promise.withResolvers<void>()
      const digests: typeof readThere = (index, part) => {
        begun.resolve()
        return readThere(index, part)
      }
      const make = (takes: (workspaceId: string) => boolean) =>
        createDigestsAhead({ digests }, audit, ['counting-v1-001'], takes)
      const ahead = make((workspaceId) => workspaceId === first)
      await begun.promise
      for (const part of parts) await ahead.take('counting-v1-001', part, -1)
      expect(new Set(asked.map((name) => name.split('/')[0]))).to.deep.equal(new Set([first]))
      asked = []
      const ended = make(() => true)
      ended.end()
      for (const part of parts) expect(await ended.take('counting-v1-001', part, part.day.length)).to.equal(undefined)
      expect(asked).to.deep.equal([])
    })
  })

  it('are made once of each part, and not of one that was compared before they came to it', async () => {
    await withAudit(context.index, async (audit) => {
      const [first, second, third] = (await audit.parts('counting-v1-001')) as readonly [Part, Part, Part]
      const several: IndexAudit = { ...audit, parts: async () => [first, second, first, third] }
      const [begun, compared, isLast] = [1, 2, 3].map(() => Promise.withResolvers<void>())
      const digests: typeof readThere = async (index, part) => {
        begun?.resolve()
        if (part === third) isLast?.resolve()
        await compared?.promise
        return readThere(index, part)
      }
      const ahead = createDigestsAhead({ digests }, several, ['counting-v1-001'], () => true)
      await begun?.promise
      expect(await ahead.take('counting-v1-001', second, 0)).to.equal(undefined)
      compared?.resolve()
      await isLast?.promise
      await ahead.take('counting-v1-001', third, 0)
      ahead.end()
      expect(asked).to.deep.equal([first, third].map(nameOf))
    })
  })
})
