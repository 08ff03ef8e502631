import { expect } from 'chai'
import { describe, it } from 'mocha'
import { noRoster } from '#projections/index-store.ts'
import { begin, changeRoster } from '#projections/rosters/roster.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { acme, epoch, fixture, index, lineEntry, noonNs, other, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { startRecordingProxy } from '#test/support/recording-proxy.ts'
import { rejection } from '#test/support/read-all.ts'

const next = 'fixture-v1-002'
const anotherLog = 'epoch-2'

describe('a build of which partitions share the indices', () => {
  const { url, prefix, makeWriter, openWriter, closeLater } = useElasticsearchStores()

  /** What the build's indices hold of a workspace, whether any reader would find it or not. */
  const stored = async (workspaceId: WorkspaceId, build = index): Promise<unknown> => {
    const indices = `/${prefix()}-${build}-*`
    await askElasticsearch(url(), `${indices}/_refresh`, { method: 'POST' })
    return (await askElasticsearch(url(), `${indices}/_count?q=_routing:${workspaceId}`))['count']
  }
  /** Of one partition, where `acme` is; another one goes on with the build, where `other` is. */
  const shareBuild = async () => {
    const [mine, theirs] = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })]
    await write(mine, [lineEntry({ text: 'secret' }, 3), lineEntry({ timeNs: noonNs + 5n }, 4)], 5)
    await write(theirs, [lineEntry({}, 3)], 5, other)
    await mine.heartbeat(index, { position: 5, head: 5, at: 1_000, caughtUpAt: 1_000 })
    return mine
  }

  it('is told to each partition as far as that one has folded it, by a roster of its own', async () => {
    const [mine, theirs] = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })]
    const told = { head: 9, at: 1_000, caughtUpAt: 1_000 }
    await mine.heartbeat(index, { position: 5, ...told })
    await theirs.heartbeat(index, { position: 3, ...told })
    for (const [writer, position] of [
      [mine, 5],
      [theirs, 3],
    ] as const) {
      expect((await writer.builds('fixture')).map(({ heartbeat }) => heartbeat.position)).to.deep.equal([position])
    }
    await promote(mine, 'fixture', index)
    expect(await theirs.roster('fixture')).to.deep.equal(noRoster)
  })

  it('loses a workspace that is erased after its own partition has dropped the build', async () => {
    const mine = await shareBuild()
    await mine.open(next, fixture, epoch)
    await mine.drop(index)
    expect(await stored(acme), 'the other partition still uses it').to.equal(2)
    await mine.eraseWorkspace(next, acme, 6)
    expect(await stored(acme)).to.equal(0)
    expect(await stored(other)).to.equal(1)
  })

  it('loses a workspace that was erased before its own partition drops the build, which had not come to that', async () => {
    const mine = await shareBuild()
    await mine.open(next, fixture, epoch)
    await mine.eraseWorkspace(next, acme, 7)
    await mine.drop(index)
    expect(await stored(acme)).to.equal(0)
    expect(await stored(other)).to.equal(1)
  })

  it('loses what a rebuild had read before that and wrote after it, when it was broken off and its partition drops the build', async () => {
    const mine = await shareBuild()
    await changeRoster(mine, 'fixture', begin(index))
    await mine.open(next, fixture, epoch)
    await mine.eraseWorkspace(next, acme, 7)
    await write(mine, [lineEntry({}, 5), lineEntry({}, 8)], 8)
    expect(await stored(acme), 'a document that nobody had written before').to.equal(2)
    await mine.drop(index)
    expect(await stored(acme), 'what it has sent since is not of what was erased').to.equal(1)
    expect(await stored(other)).to.equal(1)
  })

  it('loses a workspace also where what is left of it is of a log whose positions say nothing in this one', async () => {
    const mine = await shareBuild()
    await mine.open(next, fixture, anotherLog)
    await mine.drop(index)
    await mine.eraseWorkspace(next, acme, 1)
    expect(await stored(acme)).to.equal(0)
    expect(await stored(other)).to.equal(1)
  })

  it('is not begun anew by one while the last of the others is removing it, whoever ends that', async () => {
    let opening: Promise<Error> | undefined
    const proxy = await startRecordingProxy(url(), async (line) => {
      if (!line.startsWith('DELETE ')) return
      await (opening ??= rejection(openWriter({ partition: 0 })))
      throw new Error('lost')
    })
    const theirs = await openWriter({ url: proxy.url, partition: 1 })
    closeLater(proxy)
    await write(theirs, [lineEntry({}, 1)], 1, other)
    expect((await rejection(theirs.drop(index))).name).to.equal('TransientError')
    expect((await opening)?.message).to.match(/another partition was just removing it/)
    expect(await (await openWriter({ partition: 0 })).checkpoint(index)).to.deep.equal({ epoch, position: 0 })
    expect(await stored(other)).to.equal(0)
  })

  it('is begun by a third partition, and not again by one that has dropped it, while another uses it', async () => {
    const [mine, theirs] = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })]
    await write(theirs, [lineEntry({}, 1)], 1, other)
    await mine.drop(index)
    const free = await makeWriter({ partition: 0 }).checkpoint(index)
    expect(free, 'its name is not free, nor is it of this log').to.deep.equal({ epoch: '(dropped)', position: 0 })
    expect(await mine.builds('fixture')).to.deep.equal([])
    for (const share of [undefined, '0']) {
      const opening = openWriter({ partition: 0, ...(share && { share }) })
      expect((await rejection(opening)).message).to.match(/it was dropped: start a new build/)
    }
    const third = await openWriter({ partition: 2 })
    await write(third, [lineEntry({}, 1)], 1, acme)
    expect(await stored(acme), 'it is not taken for what the last is removing').to.equal(1)
    expect(await stored(other)).to.equal(1)
    await third.drop(index)
    await theirs.drop(index)
    expect(await (await openWriter({ partition: 0 })).checkpoint(index)).to.deep.equal({ epoch, position: 0 })
    expect(await stored(other)).to.equal(0)
  })

  it('keeps a day no longer than the partitions that still use it need it', async () => {
    const [mine, theirs] = [await openWriter({ partition: 0 }), await openWriter({ partition: 1 })]
    await write(theirs, [lineEntry({}, 1, { day: '2026-11-09' }), lineEntry({}, 2)], 2, other)
    expect(await mine.dropDays(index, { of: () => '2026-11-01', all: '2026-11-01' })).to.equal(0)
    await mine.drop(index)
    expect(await theirs.dropDays(index, { of: () => '2026-11-20', all: '2026-11-20' })).to.equal(1)
    expect(await stored(other)).to.equal(1)
  })
})
