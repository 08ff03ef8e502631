import { expect } from 'chai'
import { beforeEach, describe, it } from 'mocha'
import { noRoster, storedBuild, type IndexWriter } from '#projections/index-store.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { askElasticsearch } from '#test/support/elasticsearch.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { epoch, fixture, index, openFixture } from '#test/support/index-fixture.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { start } from '#test/support/projector-run.ts'
import { startRecordingProxy, type RecordingProxy } from '#test/support/recording-proxy.ts'

const second = 'fixture-v1-002'

/** A projector tells of all its builds once a second, and asks for as many rosters. */
describe('records of builds that are read or changed in one turn of the event loop', () => {
  const { url, prefix, makeWriter, openWriter, closeLater } = useElasticsearchStores()
  let proxy: RecordingProxy
  let writer: IndexWriter
  beforeEach(async () => {
    proxy = await startRecordingProxy(url())
    writer = makeWriter({ url: proxy.url })
    closeLater(proxy)
    await openFixture(writer)
    await writer.open(second, fixture, epoch)
    // What it was known to be before this is asked for alone.
    await beatBoth(1)
    proxy.take()
  })

  const beat = (of: string, position: number): Promise<void> =>
    writer.heartbeat(of, { position, head: position, at: position, caughtUpAt: position })
  const beatBoth = (position: number) => Promise.allSettled([beat(index, position), beat(second, position)])
  const positions = async () => {
    const builds = await Promise.all([index, second].map((of) => storedBuild(writer, 'fixture', of)))
    return builds.map((build) => build?.heartbeat.position)
  }
  const linesOf = (requests: readonly string[]) => requests.map((request) => request.split('\n')[0])
  const recordOf = (of: string): string => `/${prefix()}-state/_doc/build:${of}:0`

  it('are in one request', async () => {
    await beatBoth(2)
    expect(linesOf(proxy.take())).to.deep.equal([`POST /${prefix()}-state/_bulk`])
    const rosters = await Promise.all([writer.roster('fixture'), writer.roster('another')])
    expect(linesOf(proxy.take())).to.deep.equal([`POST /${prefix()}-state/_mget?preference=_local`])
    expect(rosters).to.deep.equal([{ revision: 1, live: index, followed: [] }, noRoster])
    expect(await positions()).to.deep.equal([2, 2])
  })

  it('are one request to read and one to write for each second of a projector', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const run = start({ stream, writer, projections: [counting, mirror] })
    const bothTold = () => Promise.all([counting, mirror].map(({ name }) => run.until((_, of) => of.startsWith(name))))
    await bothTold()
    proxy.take()
    const again = bothTold()
    run.tick()
    await again
    expect(linesOf(proxy.take())).to.deep.equal([
      `POST /${prefix()}-state/_mget?preference=_local`,
      `POST /${prefix()}-state/_bulk`,
    ])
    await run.stop()
  })

  it('are refreshed by who lists them alone, also where an earlier program had Elasticsearch do it each second', async () => {
    const settings = `/${prefix()}-state/_settings`
    const interval = () => askElasticsearch(url(), `${settings}/index.refresh_interval?flat_settings`)
    const never = { [`${prefix()}-state`]: { settings: { 'index.refresh_interval': '-1' } } }
    expect(await interval()).to.deep.equal(never)
    await askElasticsearch(url(), settings, { method: 'PUT', body: '{"index.refresh_interval":"1s"}' })
    await openWriter()
    expect(await interval()).to.deep.equal(never)
    await beatBoth(2)
    expect(await positions()).to.deep.equal([2, 2])
  })

  it('are each changed only as they were read', async () => {
    const other = await openWriter()
    await other.heartbeat(index, { position: 7, head: 7, at: 7, caughtUpAt: 7 })
    await beatBoth(3)
    expect(await positions(), 'neither goes back').to.deep.equal([7, 3])
  })

  it('that is gone fails alone', async () => {
    await askElasticsearch(url(), recordOf(second), { method: 'DELETE' })
    const [first, gone] = await beatBoth(4)
    expect(first.status).to.equal('fulfilled')
    expect(gone.status === 'rejected' && String(gone.reason)).to.match(/the build was dropped/)
    expect((await positions())[0]).to.equal(4)
  })

  it('say why they cannot be changed', async () => {
    const settings = `/${prefix()}-state/_settings`
    await askElasticsearch(url(), settings, { method: 'PUT', body: '{"index.blocks.write":true}' })
    for (const each of await beatBoth(5)) {
      expect(each.status === 'rejected' && String(each.reason)).to.match(
        /update build:fixture-v1-00\d:0.*it is blocked/s,
      )
    }
    await askElasticsearch(url(), settings, { method: 'PUT', body: '{"index.blocks.write":false}' })
    await beatBoth(5)
    expect(await positions()).to.deep.equal([5, 5])
  })

  it('are none where their index is gone, or not there yet', async () => {
    await askElasticsearch(url(), `/${prefix()}-state`, { method: 'DELETE' })
    expect(await Promise.all([writer.roster('fixture'), writer.roster('another')])).to.deep.equal([noRoster, noRoster])
    for (const each of await beatBoth(6)) {
      expect(each.status === 'rejected' && String(each.reason)).to.match(/its record was removed/)
    }
  })
})
