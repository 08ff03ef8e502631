import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readUsage } from '#projections/allowance/query.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { projections } from '#projections/registry.ts'
import { rebuild } from '#projections/builds/rebuild.ts'
import { createElasticsearchIndexReader } from '#test/support/elasticsearch-reader.ts'
import { createElasticsearchIndexWriter } from '#projections/stores/elasticsearch/writer.ts'
import { liveBuilds, verify } from '#projections/builds/verify.ts'
import { sealBeginning } from '#src/events/allowance.ts'
import { dayOf } from '#src/lib/day.ts'
import { makeJetStreamLog } from '#test/streams/jetstream-log.ts'
import { readAll } from '#test/support/read-all.ts'
import { elasticsearchContext } from '#test/support/build-context.ts'
import { indicesWith, removeIndices } from '#test/support/elasticsearch.ts'
import { elasticsearchEngine, enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { ago, createWorld, daysShown, free, pro, type Place, type World } from '#test/support/retention-world.ts'

const names = ['logs', 'allowance']
const kept = projections.filter(({ name }) => names.includes(name))
/** The days around each boundary: an index for each of a collection is slow to make. */
const livedDaysAgo = [45, 39, 38, 37, 32, 31, 30, 8, 7, 6, 0]

describe('retention on JetStream and Elasticsearch', function () {
  this.timeout(enginesTimeoutMs)
  let url: string
  let world: World
  let prefix: string
  let folder: string

  before(async () => {
    await natsEngine()
    url = await elasticsearchEngine()
  })
  beforeEach(async () => {
    const log = await makeJetStreamLog()
    const stream = await log.open()
    ;({ prefix } = log)
    folder = mkdtempSync(join(tmpdir(), 'throughline-retention-'))
    const at = { url, prefix, partition: 0 }
    const reader = createElasticsearchIndexReader({
      ...at,
      limits: { patternExpansionsMax: 1_000 },
    })
    const place: Place = {
      stream,
      openWriter: () => createElasticsearchIndexWriter({ ...at, refreshEveryMs: 0 }),
      reader,
      context: (given) => elasticsearchContext(given, { url, prefix, folder }),
      remove: async () => {
        await reader.close()
        await stream.close()
        await log.remove()
        await removeIndices(url, prefix)
        rmSync(folder, { recursive: true })
      },
    }
    world = createWorld(place, kept)
    world.moveTo(`${ago(60)}T00:00:00Z`)
    await stream.append([sealBeginning(world.clock())])
    for (const daysAgo of livedDaysAgo) await world.liveOn(ago(daysAgo))
  })
  afterEach(() => world.close())

  const daysOf = async (name: string, collection: string, build: number): Promise<readonly string[]> => {
    const projection = kept.find((each) => each.name === name)
    if (projection === undefined) throw new Error(name)
    const begin = `${prefix}-${buildName(projection, build)}-${collection}-`
    return (await indicesWith(url, begin)).map((index) => index.slice(begin.length).replaceAll('.', '-')).sort()
  }
  const expectRetained = async (build: number): Promise<void> => {
    expect(await daysShown(world, free)).to.deep.equal(world.lived(ago(7)))
    expect(await daysShown(world, pro)).to.deep.equal(world.lived(ago(30)))
    // Days are shared: they stay as long as the plan does that keeps most, and a day more.
    expect(await daysOf('logs', 'logs', build)).to.deep.equal(world.lived(ago(31)))
    const usage = await Promise.all([free, pro].map((id) => readUsage(world.reader, id, '2026-11')))
    expect(usage.map(({ spans }) => spans)).to.deep.equal([12, 12])
    const events = (await readAll(world.stream)).filter(({ type }) => type.endsWith('.received'))
    expect([...new Set(events.map(({ receivedAt }) => dayOf(receivedAt)))]).to.deep.equal(world.lived(ago(38)))
    expect(await world.stream.last('allowance.began'), 'nobody reads the log to find that out').to.not.equal(undefined)
  }
  const expectEqual = async (): Promise<void> => {
    for (const verdict of await verify(world.context, await liveBuilds(world.context, names))) {
      expect(verdict.differences, verdict.projection).to.deep.equal([])
      expect(verdict.workspaces.every(({ entries }) => entries > 2)).to.equal(true)
    }
  }

  it('keeps what it must and nothing else; verify, rebuild and new events go on', async () => {
    expect(await daysShown(world, free), 'readers do not wait for it').to.deep.equal(world.lived(ago(7)))
    await world.retain()
    await expectRetained(1)
    expect(await daysOf('allowance', 'usage', 1)).to.deep.equal(world.lived(ago(39)))
    expect(await world.retain(), 'there is nothing left to do').to.deep.equal({
      dropped: 0,
      cutTo: undefined,
      heldBy: [],
      givenUp: [],
    })
    await expectEqual()

    world.moveTo(`${ago(0)}T13:00:00Z`)
    const rebuilt = await rebuild(world.context, kept)
    expect(rebuilt.map(({ outcome }) => outcome)).to.deep.equal(['moved', 'moved'])
    await world.restart()
    await world.retain()
    await expectRetained(2)

    await world.liveOn(ago(-1))
    expect(await daysShown(world, free)).to.deep.equal(world.lived(ago(6)))
    await expectEqual()
  })
})
