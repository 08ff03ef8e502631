import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createFreshness } from '#projections/stores/elasticsearch/refresh.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { answering, type Answering } from '#test/support/answering-elasticsearch.ts'
import { rejection } from '#test/support/read-all.ts'

describe('what readers are told of an index in Elasticsearch', () => {
  const told = (position: number) => ({ position, head: 9, at: position, caughtUpAt: position })
  const freshness = (answer: Answering, everyMs = 0, now = () => 0) =>
    createFreshness({ elasticsearch: answering(answer), all: 'lines-*', everyMs, now }, told(1))

  it('is what they found before, while more is being shown', async () => {
    const [asked, shown] = [Promise.withResolvers<void>(), Promise.withResolvers<JsonObject>()]
    const lines = freshness(() => {
      asked.resolve()
      return shown.promise
    })
    lines.wrote('lines-1')
    expect(lines.capped(told(2)), 'not shown yet').to.deep.equal({ ...told(2), position: 1, caughtUpAt: 1 })
    expect(lines.capped(told(0)), 'an owner that begins further back').to.deep.equal(told(0))
    const showing = lines.refreshNow()
    await asked.promise
    expect(lines.capped(told(2)).position).to.equal(1)
    shown.resolve({})
    await showing
    expect(lines.capped(told(2))).to.deep.equal(told(2))
  })

  it('is what they found before, until all that was not shown has been', async () => {
    const asked: string[] = []
    const lines = freshness(({ path }) => {
      asked.push(path)
      return { _shards: { failed: asked.length === 1 ? 1 : 0 } }
    })
    lines.wrote('lines-1')
    expect((await rejection(lines.refreshNow())).name).to.equal('TransientError')
    expect(lines.capped(told(2)).position).to.equal(1)
    await lines.refreshNow()
    expect(asked).to.deep.equal(['/lines-1/_refresh', '/lines-1/_refresh'])
    expect(lines.capped(told(2)).position).to.equal(2)
  })

  it('is what they found before, while an index without a primary shard is left out, until all is written and shown', async () => {
    const asked: string[] = []
    const lines = freshness(({ path }) => {
      asked.push(path)
      return {}
    })
    lines.wrote('lines-1')
    lines.wrote('lines-2')
    lines.leave('lines-1')
    await lines.refreshNow()
    expect(lines.capped(told(2)).position, 'some of what was written to it before is not shown').to.equal(1)
    // Somebody may have dropped it meanwhile, so that nothing more is written to it.
    lines.rejoin()
    expect(lines.capped(told(2)).position).to.equal(1)
    await lines.refreshNow()
    expect(asked).to.deep.equal(['/lines-2/_refresh', '/lines-1/_refresh'])
    expect(lines.capped(told(2)).position).to.equal(2)
  })

  it('is what they found before, while a shard is waited for whose loss is known only later; that of others is shown', async () => {
    const states = ['yellow', 'red']
    const lines = freshness(({ path }) => {
      if (path.includes('_cluster/health')) return { indices: { 'lines-1': { status: states.shift() ?? 'red' } } }
      return path.includes('lines-1') ? new Promise<JsonObject>(() => undefined) : {}
    })
    lines.wrote('lines-1')
    lines.wrote('lines-2')
    await lines.refreshNow()
    expect(states).to.deep.equal([])
    expect(lines.capped(told(2)).position).to.equal(1)
    lines.wrote('lines-2')
    expect(lines.capped(told(2)).position, 'and more is written beside it').to.equal(1)
  })

  it('is what they found before, until a shard is back that was waited for, or what was written there is shown again', async () => {
    const asked: string[] = []
    const late = Promise.withResolvers<JsonObject>()
    let looks = 0
    const lines = freshness(async ({ path, method }) => {
      if (method === 'GET') {
        // The master is being elected.
        if (looks++ === 0) throw new Error('no master')
        return { indices: { 'lines-00': { status: 'red' } } }
      }
      asked.push(path)
      if (asked.length === 1) return late.promise
      // It fails while others are shown.
      late.reject(new Error('no shard'))
      await new Promise((resolve) => void setImmediate(resolve))
      return {}
    })
    const names = Array.from({ length: 25 }, (_, number) => `lines-${String(number).padStart(2, '0')}`)
    for (const name of names) lines.wrote(name)
    await lines.refreshNow()
    expect(asked, 'no more names than an address has room for').to.deep.equal([
      `/${names.slice(0, 20).join()}/_refresh`,
      `/${names.slice(1, 21).join()}/_refresh`,
      `/${names.slice(21).join()}/_refresh`,
    ])
    await new Promise((resolve) => void setImmediate(resolve))
    expect(lines.capped(told(2)).position).to.equal(1)
    await lines.refreshNow()
    expect(asked.slice(3)).to.deep.equal(['/lines-00/_refresh'])
    expect(lines.capped(told(2)).position).to.equal(2)
  })

  it('is what is there once a shard is back that was waited for', async () => {
    const late = Promise.withResolvers<JsonObject>()
    const asked: string[] = []
    const lines = freshness(({ path, method }) => {
      if (method === 'GET') return { indices: { 'lines-1': { status: 'red' } } }
      asked.push(path)
      return late.promise
    })
    lines.wrote('lines-1')
    await lines.refreshNow()
    expect(lines.capped(told(2)).position).to.equal(1)
    late.resolve({})
    await new Promise((resolve) => void setImmediate(resolve))
    expect(lines.capped(told(2)).position).to.equal(2)
    await lines.refreshNow()
    expect(asked).to.deep.equal(['/lines-1/_refresh'])
  })

  it('names twenty indices in a request', async () => {
    const asked: string[] = []
    const lines = freshness(({ path }) => {
      asked.push(path)
      return {}
    })
    const names = Array.from({ length: 21 }, (_, number) => `lines-${number}`)
    for (const name of names) lines.wrote(name)
    await lines.refreshNow()
    expect(asked).to.deep.equal([`/${names.slice(0, 20).join()}/_refresh`, '/lines-20/_refresh'])
  })

  it('comes with each refresh where there is no pause between them, however long one takes; without anything written none is asked for', async () => {
    const asked: string[] = []
    let now = 0
    const show: Answering = ({ path }) => {
      asked.push(path)
      now += 60_000
      return {}
    }
    const lines = freshness(show, 0, () => now)
    for (const name of ['lines-1', 'lines-2']) {
      lines.wrote(name)
      await lines.refresh(told(1))
      await lines.refresh(told(1))
    }
    // Nothing of it waits to be shown.
    lines.leave('lines-1')
    expect(lines.capped(told(2)).position).to.equal(2)
    expect(asked).to.deep.equal(['/lines-1/_refresh', '/lines-2/_refresh'])
  })

  it('goes on after a failure, and is shown one time after the other', async () => {
    const asked: string[] = []
    const first = Promise.withResolvers<JsonObject>()
    const lines = freshness(({ path }) => {
      asked.push(path)
      return asked.length === 1 ? first.promise : {}
    })
    lines.wrote('lines-1')
    const failing = lines.refreshNow()
    await new Promise((resolve) => void setImmediate(resolve))
    lines.wrote('lines-2')
    const after = lines.refreshNow()
    await new Promise((resolve) => void setImmediate(resolve))
    expect(asked).to.deep.equal(['/lines-1/_refresh'])
    first.reject(new Error('not now'))
    expect(String(await rejection(failing))).to.equal('Error: not now')
    await after
    expect(asked.slice(1)).to.deep.equal(['/lines-2,lines-1/_refresh'])
    expect(lines.capped(told(2)).position).to.equal(2)
  })

  it('has what is ahead of it as it was found, never as it is only written', async () => {
    const lines = freshness(() => ({}))
    const ahead = (position: number) => ({ position, caughtUpAt: 1, behind: new Map() })
    expect(lines.capped({ ...told(2), ahead: ahead(3) }).ahead).to.deep.equal(ahead(3))
    lines.wrote('lines-1')
    expect(lines.capped({ ...told(2), ahead: ahead(5) }).ahead).to.deep.equal(ahead(3))
    await lines.refreshNow()
    expect(lines.capped(told(2))).to.deep.equal(told(2))
    lines.wrote('lines-1')
    expect(lines.capped({ ...told(2), ahead: ahead(5) })).to.deep.equal(told(2))
  })

  /** Whether what is written is shown at a time (ms), by an index that is told each time how far it is. */
  const shownAt = async (times: readonly (readonly [nowMs: number, position: number, head: number])[]) => {
    let [nowMs, shown] = [0, 0]
    const show = (): JsonObject => {
      shown++
      return {}
    }
    const lines = freshness(show, 1_000, () => nowMs)
    const seen: boolean[] = []
    for (const [at, position, head] of times) {
      const before = shown
      nowMs = at
      lines.wrote('lines-1')
      await lines.refresh({ position, head })
      seen.push(shown > before)
    }
    return seen
  }

  it('comes later by a quarter of how long the head took to be reached', async () => {
    const toTheHead = [
      [0, 0, 10],
      [8_000, 10, 20],
    ] as const
    expect(await shownAt([...toTheHead, [9_999, 11, 20]])).to.deep.equal([true, true, false])
    expect(await shownAt([...toTheHead, [10_000, 11, 20]])).to.deep.equal([true, true, true])
  })

  it('comes ten seconds later at most, also where the one before took a minute', async () => {
    let now = 0
    let refreshes = 0
    const lines = freshness(
      () => {
        if (refreshes++ === 0) now += 60_000
        return {}
      },
      500,
      () => now,
    )
    for (const [at, count] of [
      [0, 1],
      [69_999, 1],
      [70_000, 2],
    ] as const) {
      now = at
      lines.wrote('lines-1')
      await lines.refresh(told(1))
      expect(refreshes).to.equal(count)
    }
  })

  it('comes ten seconds later at most, however far it is behind', async () => {
    const far = [
      [0, 0, 10],
      [100_000, 1, 10],
    ] as const
    expect(await shownAt([...far, [109_999, 2, 10]])).to.deep.equal([true, true, false])
    expect(await shownAt([...far, [110_000, 2, 10]])).to.deep.equal([true, true, true])
  })
})
