import { mock } from 'node:test'
import { expect } from 'chai'
import { afterEach, describe, it } from 'mocha'
import { connectElasticsearch } from '#projections/stores/elasticsearch/client.ts'
import { readRoster } from '#projections/stores/elasticsearch/rosters.ts'
import { connectPlace } from '#projections/stores/elasticsearch/place.ts'
import { useElasticsearchStores } from '#test/support/elasticsearch-stores.ts'
import { freePort } from '#test/support/free-port.ts'
import { index, lineEntry, write } from '#test/support/index-fixture.ts'
import { promote } from '#test/support/promote.ts'
import { startRecordingProxy, type RecordingProxy } from '#test/support/recording-proxy.ts'
import { rejection } from '#test/support/read-all.ts'

/** So long a lost node is left alone, by the driver's clock. */
const lostMs = 5_000

const never = (): Promise<never> => new Promise(() => undefined)

// Each node is a way of its own to the one Elasticsearch that tests share.
describe('several nodes of Elasticsearch', () => {
  const nodes: (RecordingProxy & Readonly<{ heal(): void }>)[] = []
  // Before what was opened on them is closed.
  afterEach(() => {
    mock.timers.reset()
    for (const node of nodes) node.heal()
  })
  const { url, prefix, openWriter, makeReader, closeLater, count } = useElasticsearchStores()

  afterEach(async () => {
    for (const node of nodes.splice(0)) await node.close()
  })

  /** A node that can be lost, or hang, before it does what it is asked, or after it. */
  const startNode = async () => {
    let [before, after] = [
      async (_line: string): Promise<unknown> => undefined,
      async (_line: string): Promise<unknown> => undefined,
    ]
    const proxy = await startRecordingProxy(
      url(),
      (line) => before(line),
      (line) => after(line),
    )
    const node = {
      ...proxy,
      before: (happens: typeof before) => void (before = happens),
      after: (happens: typeof after) => void (after = happens),
      heal: () => void (before = after = async () => undefined),
    }
    nodes.push(node)
    return node
  }
  const nowhere = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

  it('goes on with the others where one is not there; one of them names the user', async () => {
    const urls = `${await nowhere()},${url()},${await nowhere()}`
    // What may not be repeated as well, whichever it is sent to first.
    for (let clients = 0; clients < 3; clients++) {
      const { elasticsearch, names } = connectPlace({ url: urls, prefix: prefix(), partition: 0 })
      closeLater(elasticsearch)
      const make = {
        operation: 'make',
        subject: 'it',
        method: 'PUT',
        path: `/${names.state}-one`,
        accept: [400],
      } as const
      for (let sent = 0; sent < 3; sent++) await elasticsearch.send(make)
    }
    const writer = await openWriter({ url: urls })
    await promote(writer, 'fixture', index)
    await write(writer, [lineEntry({}, 1)], 1)
    expect(await count(makeReader(0, urls))).to.equal(1)
  })

  it('goes on with the others where one takes connections and answers nothing', async () => {
    const [one, two] = [await startNode(), await startNode()]
    const urls = `${one.url},${two.url}`
    const writer = await openWriter({ url: urls })
    await promote(writer, 'fixture', index)
    const readers = [makeReader(0, urls), makeReader(0, urls)]
    for (const reader of readers) expect(await count(reader)).to.equal(0)
    one.before(never)
    const writing = write(writer, [lineEntry({}, 1)], 1).catch(() => write(writer, [lineEntry({}, 1)], 1))
    await Promise.all([...readers.map((reader) => count(reader)), writing])
    for (const reader of readers) expect(await count(reader)).to.equal(1)
    one.heal()
    two.before(never)
    expect(await Promise.all(readers.map((reader) => count(reader)))).to.deep.equal([1, 1])
  })

  it('goes on with the others where one answers that it is not in the cluster', async () => {
    const both = [await startNode(), await startNode()]
    const urls = both.map((node) => node.url).join()
    const writer = await openWriter({ url: urls })
    await promote(writer, 'fixture', index)
    const reader = makeReader(0, urls)
    const read = (): Promise<number> => count(reader)
    const add = (position: number) => () => write(writer, [lineEntry({ text: `line ${position}` }, position)], position)
    for (const [before, after] of [
      [read, read],
      [add(1), add(2)],
    ] as const) {
      for (const node of both) node.take()
      await before()
      const used = both.find((node) => node.take().length > 0)
      used?.before(async () => 503)
      await after()
      used?.heal()
    }
    expect(await count(reader)).to.equal(2)
  })

  it('goes on with the others where one has no room for more, as long as it has none', async () => {
    const both = [await startNode(), await startNode()]
    const writer = await openWriter({ url: both.map((node) => node.url).join() })
    await promote(writer, 'fixture', index)
    const reader = makeReader(0, both.map((node) => node.url).join())
    const tasks = [() => count(reader), () => write(writer, [lineEntry({}, 1)], 1)]
    for (const task of tasks) {
      for (const node of both) node.take()
      await task()
      const used = both.find((node) => node.take().length > 0)
      used?.before(async () => 429)
      await task()
      expect(used?.take()).to.have.length(1)
      used?.heal()
    }
    expect(await count(reader)).to.equal(1)
  })

  it('leaves none out for an answer that is the same from each', async () => {
    const [one, two] = [await startNode(), await startNode()]
    for (const node of [one, two]) node.before(async (line) => (line.includes('/_search') ? 503 : undefined))
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    const reader = makeReader(0, `${one.url},${two.url}`)
    expect((await rejection(count(reader))).message).to.match(/some of its shards do not answer/)
    const asked = [one, two].map((node) => node.take().filter((line) => line.includes('/_search')).length)
    expect(asked).to.include(0)
    const [used, other] = asked[0] === 0 ? [two, one] : [one, two]
    used.before(async () => 503)
    other.heal()
    expect(await count(reader), 'it was a member before').to.equal(0)
  })

  it('asks one of them as long as it is there, and again once it is a member of the cluster again', async () => {
    const [one, two] = [await startNode(), await startNode()]
    const writer = await openWriter()
    await promote(writer, 'fixture', index)
    const reader = makeReader(0, `${one.url},${two.url}`)
    for (let times = 0; times < 5; times++) await count(reader)
    const asked = [one, two].map((node) => node.take().length)
    expect(asked).to.include(0)
    const [used, other] = asked[0] === 0 ? [two, one] : [one, two]
    const isPing = (line: string): boolean => line.includes('/_cluster/state/version')
    const refuse = async (): Promise<never> => {
      throw new Error('lost')
    }
    mock.timers.enable({ apis: ['Date'], now: Date.now() })
    used.before(refuse)
    await count(reader)
    expect(other.take().join()).to.match(/_search/)
    /** It has been left alone for long enough: what it is asked from the next request on, so many times, until that is answered and heard. */
    const askAgain = async (happens: () => Promise<unknown>, times: number): Promise<readonly string[]> => {
      used.take()
      let left = times
      const isAsked = new Promise<void>((resolve) => {
        used.before(async (line) => {
          if (isPing(line) && --left === 0) resolve()
          return isPing(line) ? happens() : undefined
        })
      })
      mock.timers.tick(lostMs)
      await count(reader)
      await isAsked
      await count(reader)
      return used.take()
    }
    // As one that is back, and has not found its master yet.
    const again = [await askAgain(refuse, 2), await askAgain(async () => 503, 1)]
    expect(
      again.map((lines) => lines.map(isPing)),
      'a dropped connection is tried twice',
    ).to.deep.equal([[true, true], [true]])
    const healed = [...(await askAgain(async () => undefined, 2))]
    while (healed.every(isPing)) {
      await count(reader)
      healed.push(...used.take())
    }
    expect(healed.map(isPing).slice(0, 3), 'what its master knows, and what it knows').to.deep.equal([
      true,
      true,
      false,
    ])
    expect(healed.join()).to.match(/local=true/)
  })

  it('waits for one that is slow with a request and answers others, not once it answers none', async () => {
    const one = await startNode()
    const elasticsearch = connectElasticsearch(`${one.url},${await nowhere()}`)
    closeLater(elasticsearch)
    const query = { wait_for_nodes: '>=9', timeout: '6s' }
    const call = { operation: 'look at', subject: 'all', method: 'GET', path: '/_cluster/health', query } as const
    expect((await elasticsearch.send({ ...call, accept: [408] })).status).to.equal(408)
    const asked = one.take().filter((line) => line.includes('/_cluster/health'))
    expect(asked).to.have.length(1)
    one.before(never)
    expect((await rejection(elasticsearch.send({ ...call, query: {} }))).name).to.equal('TransientError')
  })

  it('writes a batch once more whose answer was lost, to no other effect', async () => {
    const [one, two] = [await startNode(), await startNode()]
    const urls = `${one.url},${two.url}`
    const writer = await openWriter({ url: urls })
    await promote(writer, 'fixture', index)
    const lost: string[] = []
    for (const node of [one, two]) {
      node.after(async (line) => {
        if (!line.includes('POST /_bulk') || lost.length > 0) return
        lost.push(line)
        throw new Error('lost')
      })
    }
    await write(writer, [lineEntry({ text: 'one' }, 1), lineEntry({ text: 'two' }, 2)], 2)
    expect(lost).to.have.length(1)
    expect(await count(makeReader(0, urls))).to.equal(2)
  })

  it('does not itself repeat what may have been done, and was to be done only as things were', async () => {
    const [one, two] = [await startNode(), await startNode()]
    const writer = await openWriter({ url: `${one.url},${two.url}` })
    for (const node of [one, two]) {
      node.after(async (line) => {
        if (line.startsWith('PUT ') && line.includes('roster')) throw new Error('lost')
      })
    }
    const place = connectPlace({ url: url(), prefix: prefix(), partition: 0 })
    closeLater(place.elasticsearch)
    const before = await readRoster(place, 'fixture')
    const failure = await rejection(writer.changeRoster('fixture', { ...before, live: index }))
    expect(failure.name).to.equal('TransientError')
    expect((await readRoster(place, 'fixture')).revision).to.equal(before.revision + 1)
    expect(
      [...one.take(), ...two.take()].filter((line) => line.startsWith('PUT ') && line.includes('roster')),
    ).to.have.length(1)
  })

  it('names the node that failed, without the password', async () => {
    const [first, second] = [await nowhere(), await nowhere()]
    const failure = await rejection(
      makeReader(0, `${first.replace('//', '//elastic:secret@')},${second}`).progress('fixture'),
    )
    expect(failure.name).to.equal('TransientError')
    const hints = [first, second].map((node) => `is Elasticsearch running at ${new URL(node).host}?`)
    expect(hints.filter((hint) => failure.message.includes(hint))).to.have.length(1)
    expect(failure.message).to.not.match(/secret|\n/)
  })
})
