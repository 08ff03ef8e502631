import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { JsonObject } from '#src/lib/json.ts'
import { createElasticsearchIndexAudit } from '#projections/stores/elasticsearch/audit.ts'
import { askElasticsearch, indicesWith } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { index, lineEntry, other, thingEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { rejection } from '#test/support/read-all.ts'

const dayAfter = '2026-11-22'
const keptFrom = (from: string) => ({ of: () => from, all: from })

describe('an index of a day that somebody works on in Elasticsearch', () => {
  const { url, prefix, openWriter, makeReader, closeLater, count, dayIndex } = useElasticsearchStores()
  const ask = (path: string, method: string, body?: object) =>
    askElasticsearch(url(), path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const done = async (...asked: Parameters<typeof ask>) => {
    const answer = await ask(...asked)
    expect(answer, asked[0]).to.not.have.property('error')
    return answer
  }
  const change = (name: string, settings: object) => done(`/${name}/_settings`, 'PUT', settings)
  const lost = async (partition = 0) => (await makeReader(partition).progress('fixture'))?.lostDays
  const lines = (): string => dayIndex('lines')

  async function written(options: Parameters<typeof openWriter>[0] = {}) {
    const writer = await openWriter(options)
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1), thingEntry('t', {}, 1)], 1)
    await write(writer, [lineEntry({}, 2, { day: dayAfter })], 2)
    return writer
  }

  /** Lets go of the only shard of an index, and puts an empty one in its place. */
  async function emptyShard(name: string): Promise<void> {
    const { nodes } = await ask('/_nodes?filter_path=nodes.*.name', 'GET')
    const [node] = Object.values(nodes as Record<string, JsonObject>)
    const shard = { index: name, shard: 0, node: String(node?.['name']) }
    const commands = [
      { cancel: { ...shard, allow_primary: true } },
      { allocate_empty_primary: { ...shard, accept_data_loss: true } },
    ]
    /** How many documents it holds, once it has begun. */
    const held = async (): Promise<unknown> => {
      for (;;) {
        const { count } = await ask(`/${name}/_count`, 'GET')
        if (count !== undefined) return count
      }
    }
    // A busy node may not have let go of the shard yet: then it takes up again what it held.
    do await done('/_cluster/reroute?filter_path=acknowledged,error', 'POST', { commands })
    while ((await held()) !== 0)
  }

  it('is missed by all partitions where an empty shard was put in the place of a lost one, within seconds and from then on', async () => {
    let now = 0
    const told: string[] = []
    const writer = await written({ now: () => now, onLost: (names) => void told.push(...names) })
    const one = await openWriter({ partition: 1 })
    await promote(one, 'fixture', index)
    await write(one, [lineEntry({}, 1)], 1, other)
    const audit = createElasticsearchIndexAudit({ url: url(), prefix: prefix(), partition: 0, partitions: 2 })
    closeLater(audit)
    // A day that was closed meanwhile has begun again, and lacks nothing.
    await done(`/${dayIndex('lines', dayAfter)}/_close`, 'POST')
    await done(`/${dayIndex('lines', dayAfter)}/_open`, 'POST')
    await emptyShard(lines())
    expect(await audit.lost?.(index)).to.deep.equal([{ day: '2026-11-21' }])
    for (let times = 0; times < 2; times++) {
      now += 5_000
      await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
    }
    expect(told).to.deep.equal([lines()])
    await done(`/${lines()}/_close`, 'POST')
    await done(`/${lines()}/_open`, 'POST')
    await openWriter()
    await openWriter({ partition: 1 })
    for (const partition of [0, 1]) expect(await lost(partition)).to.deep.equal([{ day: '2026-11-21' }])
  })

  it('is removed later where a snapshot is taken of it, or it is blocked, and keeps none of the others', async () => {
    const repository = `/_snapshot/${prefix()}`
    await done(repository, 'PUT', {
      type: 'fs',
      settings: { location: prefix(), max_snapshot_bytes_per_sec: '20kb' },
    })
    const writer = await written()
    // So many bytes that it takes until it is broken off.
    const text = Array.from({ length: 8_000 }, () => randomBytes(40).toString('base64')).join(' ')
    await write(writer, [lineEntry({ text }, 3)], 3)
    try {
      await done(`${repository}/slow`, 'PUT', { indices: lines() })
      const failure = await rejection(writer.drop(index))
      expect([failure.name, failure.message]).to.deep.equal([
        'TransientError',
        `drop ${index}: Elasticsearch answered 400 snapshot_in_progress_exception: ${failure.message.split('exception: ')[1]}`,
      ])
      expect(failure.message).to.match(/\(a snapshot is taken of it: it goes on by itself when that is complete\)$/)
    } finally {
      await done(`${repository}/slow`, 'DELETE')
      await done(repository, 'DELETE')
    }
    expect(await indicesWith(url(), prefix())).to.have.members([`${prefix()}-state`, lines()])
    await change(lines(), { 'index.blocks.read_only': true })
    expect((await rejection(writer.drop(index))).message).to.match(/lift the block/)
    await change(lines(), { 'index.blocks.read_only': false })
    await writer.drop(index)
    expect(await indicesWith(url(), prefix())).to.deep.equal([`${prefix()}-state`])
  })

  it('keeps no later one from going when its day is over', async () => {
    const writer = await written()
    await change(lines(), { 'index.blocks.read_only': true })
    expect((await rejection(writer.dropDays(index, keptFrom('2026-11-23')))).message).to.match(/lift the block/)
    expect(await indicesWith(url(), prefix())).to.have.members([`${prefix()}-state`, lines()])
    await change(lines(), { 'index.blocks.read_only': false })
    expect(await writer.dropDays(index, keptFrom('2026-11-23'))).to.equal(1)
  })

  it('is missed where another has taken its place under an alias, as a policy does that shrinks it, and keeps who writes to it from going on, who names it', async () => {
    let now = 0
    const told: Record<string, readonly string[]> = {}
    const writer = await written({
      now: () => now,
      onLost: (names) => void (told['lost'] = names),
      onBeside: (names) => void (told['beside'] = names),
    })
    const [name, shrunk] = [lines(), `shrink-${lines()}`]
    await change(name, { 'index.blocks.write': true })
    await done(`/${name}/_clone/${shrunk}`, 'PUT', { settings: { 'index.blocks.write': false } })
    try {
      const swap = [{ remove_index: { index: name } }, { add: { index: shrunk, alias: name } }]
      await done('/_aliases', 'POST', { actions: swap })
      now += 5_000
      await writer.heartbeat(index, { position: 2, head: 2, at: 1, caughtUpAt: 1 })
      expect([told, await lost()]).to.deep.equal([{ lost: [name], beside: [shrunk] }, [{ day: '2026-11-21' }]])
      const failure = await rejection(write(await openWriter(), [lineEntry({}, 3)], 3))
      expect([failure.name, failure.message]).to.deep.equal([
        'TransientError',
        `create ${name}: Invalid index name [${name}], already exists as alias (an index template or an alias of somebody else may be in its way: change or remove that one)`,
      ])
    } finally {
      await done(`/${shrunk}`, 'DELETE')
    }
    await write(await openWriter(), [lineEntry({}, 3)], 3)
    expect([await count(makeReader()), await lost()]).to.deep.equal([2, [{ day: '2026-11-21' }]])
  })

  it('takes no later event for one that it has where somebody has updated its documents, which is said', async () => {
    const writer = await written()
    const place = `/${dayIndex('things')}/_doc/acme%2Ft?routing=acme`
    const { _source: source } = await ask(place, 'GET')
    for (let times = 0; times < 5; times++) await done(place, 'PUT', source as object)
    const failure = await rejection(write(writer, [thingEntry('t', { note: 'later' }, 4)], 4))
    expect([failure.name, failure.message]).to.deep.equal([
      'PermanentError',
      `write acme/t of ${dayIndex('things')} at 4 (somebody else has changed the document, whose version is newer than what it holds: rebuild the projection)`,
    ])
  })

  it('is said to lack copies where somebody wants more of them than there are, and is written to again', async () => {
    const writer = await written()
    await change(lines(), { 'index.auto_expand_replicas': false, 'index.number_of_replicas': 1 })
    await change(lines(), { 'index.write.wait_for_active_shards': '2' })
    const failure = await rejection(write(writer, [lineEntry({}, 3)], 3))
    expect([failure.name, failure.message]).to.deep.equal([
      'TransientError',
      `write to ${lines()} (it has fewer active copies than index.write.wait_for_active_shards asks for: bring back the nodes, or set that to 1 (an index template may set it too))`,
    ])
    await change(lines(), { 'index.write.wait_for_active_shards': '1' })
    await write(writer, [lineEntry({}, 3)], 3)
    expect(await count(makeReader())).to.equal(3)
  })
})
