import { expect } from 'chai'
import { describe, it } from 'mocha'
import { LostRecordError, type WorkspaceEntries } from '#projections/index-store.ts'
import { createDayIndices } from '#projections/stores/elasticsearch/day-indices.ts'
import { createDayWatch, createForbid } from '#projections/stores/elasticsearch/day-watch.ts'
import { dropIndicesBefore, noteDays } from '#projections/stores/elasticsearch/known-days.ts'
import { defaultSettings } from '#projections/stores/elasticsearch/mapping.ts'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import type { Place } from '#projections/stores/elasticsearch/place.ts'
import type { Records } from '#projections/stores/elasticsearch/records.ts'
import { writtenOf } from '#projections/stores/row.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { acme } from '#test/support/index-fixture.ts'
import { counting } from '#test/support/line-projections.ts'
import { rejection } from '#test/support/read-all.ts'

const build = 'lines-v1-001'
const dayName = (day: number): string => `x-${build}-said-2026.11.${day}`

/** Day indices of a build of two partitions, as a server has them, and the records of the build. */
function createWorld() {
  const there = new Map<string, Readonly<{ uuid: string; state?: string; aliases?: readonly string[] }>>()
  const records = new Map<number, JsonObject>([0, 1].map((partition) => [partition, { index: build, partition }]))
  const told = {
    lost: [] as string[],
    closed: [] as string[],
    passedOver: [] as string[],
    asked: [] as string[],
    version: 1,
    updates: 0,
    looks: 0,
  }
  const idOf = (partition: number): string => `build:${build}:${partition}`
  const elasticsearch = answering(({ method, path }) => {
    if (method === 'GET') told.looks++
    else told.asked.push(`${method} ${path}`)
    if (method === 'PUT' && path.startsWith('/x-')) there.set(path.slice(1), { uuid: `new ${path.at(-1)}` })
    if (method === 'DELETE') there.delete(path.slice(1))
    // Without security: what an alias leads to is left out with the alias.
    if (path.endsWith('/_settings/index.uuid'))
      return Object.fromEntries(
        [...there].filter(([, { aliases }]) => aliases === undefined).map(([name]) => [name, {}]),
      )
    const indices = [...there].map(([name, { uuid, state = 'open', aliases = [] }]) => {
      return [name, { state, aliases, settings: { index: { uuid } } }] as const
    })
    return { metadata: { indices: Object.fromEntries(indices) } }
  })
  const recordsOf: Records = {
    async read(id) {
      const source = [...records.entries()].find(([partition]) => idOf(partition) === id)?.[1]
      return source && { source, unchanged: {} }
    },
    async update({ id, fields }) {
      const partition = Number(id.at(-1))
      told.updates++
      records.set(partition, { ...records.get(partition), ...fields })
      return {}
    },
    builds: async () => [...records.values()],
  }
  const placeOf = (partition: number): Place => ({
    elasticsearch,
    names: createNames('x'),
    records: recordsOf,
    stateVersion: async () => told.version,
    partition,
    onLost: (names) => void told.lost.push(...names),
    onClosed: (names) => void told.closed.push(...names),
    onPassedOver: (names) => void told.passedOver.push(...names),
  })
  return { there, records, told, placeOf, place: placeOf(0) }
}

describe('the day indices that the record of a build names, by scripted answers', () => {
  const all = (): boolean => true

  it('are noted as closed, and told once, while searches pass over them for an alias', async () => {
    const { there, records, told, place } = createWorld()
    there.set(dayName(21), { uuid: 'a21', aliases: [`${dayName(21)}_alias`] })
    there.set(dayName(22), { uuid: 'a22' })
    for (let times = 0; times < 2; times++) await noteDays(place, build, all)
    expect(records.get(0)?.['closedDays']).to.deep.equal([dayName(21)])
    there.set(dayName(21), { uuid: 'a21' })
    await noteDays(place, build, all)
    expect(records.get(0)?.['closedDays']).to.deep.equal([])
    expect([told.passedOver, told.closed]).to.deep.equal([[dayName(21)], []])
  })

  it('are missed once where one is gone, or was made anew, and other partitions that name it are told', async () => {
    const { there, records, told, place, placeOf } = createWorld()
    for (const day of [21, 22, 23]) there.set(dayName(day), { uuid: `a${day}` })
    await noteDays(place, build, all)
    await noteDays(placeOf(1), build, (name) => name === dayName(21))
    expect(records.get(1)?.['days']).to.deep.equal([{ name: dayName(21), uuid: 'a21' }])
    there.delete(dayName(21))
    there.set(dayName(22), { uuid: 'b22' })
    records.set(1, { ...records.get(1), toldLost: { [dayName(20)]: true } })
    const stored = await noteDays(place, build, all)
    expect([...(stored?.days ?? [])]).to.deep.equal([
      [dayName(22), 'b22'],
      [dayName(23), 'a23'],
    ])
    expect(told.lost).to.deep.equal([dayName(21), dayName(22)])
    expect(records.get(0)).to.deep.include({
      days: [
        { name: dayName(21), uuid: 'a21' },
        { name: dayName(22), uuid: 'b22' },
        { name: dayName(23), uuid: 'a23' },
      ],
      lostDays: [dayName(21), dayName(22)],
    })
    expect(records.get(0), 'which has noted that itself').not.to.have.property('toldLost')
    expect(records.get(1)?.['toldLost'], 'which has not met the other').to.deep.equal({
      [dayName(20)]: true,
      [dayName(21)]: true,
    })
    const before = told.updates
    await noteDays(place, build, all)
    expect([told.lost.length, told.updates - before], 'nothing is new').to.deep.equal([2, 0])
  })

  it('are missed again where another partition could not be told of it', async () => {
    const { there, records, place, placeOf } = createWorld()
    there.set(dayName(21), { uuid: 'a21' })
    for (const partition of [0, 1]) await noteDays(placeOf(partition), build, all)
    there.delete(dayName(21))
    const lost: (readonly string[])[] = []
    const telling = { ...place, onLost: (names: readonly string[]) => void lost.push(names) }
    const update: Records['update'] = async (wanted) => {
      if (wanted.id.endsWith(':1')) throw new TransientError({ operation: 'write', subject: wanted.id })
      return place.records.update(wanted)
    }
    const failing = { ...telling, records: { ...place.records, update } }
    expect((await rejection(noteDays(failing, build, all))).name).to.equal('TransientError')
    expect(lost).to.deep.equal([])
    for (let times = 0; times < 2; times++) await noteDays(telling, build, all)
    expect(lost).to.deep.equal([[dayName(21)]])
    expect(records.get(1)?.['toldLost']).to.deep.equal({ [dayName(21)]: true })
  })

  it('are not named where nobody wants them, or the partition has let go of them', async () => {
    const { there, records, told, place } = createWorld()
    for (const day of [20, 21, 22]) there.set(dayName(day), { uuid: `a${day}` })
    records.set(0, { index: build, partition: 0, keptFrom: '2026-11-21' })
    await noteDays(place, build, (name) => name !== dayName(22))
    expect(records.get(0)?.['days']).to.deep.equal([{ name: dayName(21), uuid: 'a21' }])
    // A program before this one has noted no UUID: it is the same one.
    records.set(0, { index: build, partition: 0, days: [dayName(21), dayName(23)] })
    await noteDays(place, build, () => false)
    expect(records.get(0)?.['days']).to.deep.equal([
      { name: dayName(21), uuid: 'a21' },
      { name: dayName(23), uuid: '' },
    ])
    expect(told.lost, 'which is not there').to.deep.equal([dayName(23)])
    records.set(0, { index: build, partition: 0, dropped: true })
    expect(await noteDays(place, build, all)).to.equal(undefined)
  })

  it('are told once where they are closed, until they are open again', async () => {
    const { there, records, told, place } = createWorld()
    for (const day of [21, 22]) there.set(dayName(day), { uuid: `a${day}`, state: 'close' })
    for (let times = 0; times < 2; times++) await noteDays(place, build, (name) => name === dayName(21))
    expect([told.closed, records.get(0)?.['closedDays'], told.updates]).to.deep.equal([[dayName(21)], [dayName(21)], 1])
    there.set(dayName(21), { uuid: 'a21' })
    await noteDays(place, build, () => false)
    expect([told.closed.length, records.get(0)?.['closedDays']]).to.deep.equal([1, []])
  })

  it('are removed before the first day that a partition keeps, which has not dropped the build, and not missed then', async () => {
    const { there, records, told, place, placeOf } = createWorld()
    for (const day of [20, 21, 22, 23]) there.set(dayName(day), { uuid: `a${day}` })
    for (const partition of [0, 1]) await noteDays(placeOf(partition), build, all)
    records.set(2, { index: build, partition: 2, keptFrom: '', dropped: true })
    expect(await dropIndicesBefore(placeOf(1), build, '2026-11-21'), 'the other needs them').to.deep.equal([])
    expect(await dropIndicesBefore(place, build, '2026-11-22')).to.deep.equal([dayName(20)])
    expect(await dropIndicesBefore(placeOf(1), build, '2026-11-23')).to.deep.equal([dayName(21)])
    for (const partition of [0, 1]) await noteDays(placeOf(partition), build, all)
    expect([[...there.keys()], told.lost]).to.deep.equal([[dayName(22), dayName(23)], []])
    expect(records.get(0)).to.deep.include({ keptFrom: '2026-11-22', lostDays: [] })
    expect(records.get(1)?.['days']).to.deep.equal([{ name: dayName(23), uuid: 'a23' }])
  })

  it('are kept in the list of what is lost, or closed, as long as their day is', async () => {
    const { there, records, place } = createWorld()
    const names = [21, 22].map(dayName)
    for (const name of names) there.set(name, { uuid: 'a', state: 'close' })
    records.set(0, { index: build, partition: 0, days: names, lostDays: names, closedDays: names })
    await dropIndicesBefore(place, build, '2026-11-22')
    const [, later] = names
    expect(records.get(0)).to.deep.include({ lostDays: [later], closedDays: [later] })
  })
})

describe('the day indices that a build makes, by scripted answers', () => {
  const made = { index: build, collections: writtenOf(counting), settings: defaultSettings }
  const entriesOf = (...days: readonly number[]): readonly WorkspaceEntries[] => {
    const entry = { collection: 'said', id: 'a', document: {}, position: 1, timeNs: 1n }
    return [
      {
        workspaceId: acme,
        entries: days.map((day) => ({ ...entry, day: `2026-11-${day}` })),
      },
    ]
  }

  it('are made once, named, named later where that failed, and made anew once they were let go of', async () => {
    const { records, told, place } = createWorld()
    const days = createDayIndices(place, { ...made, share: undefined }, [dayName(20)])
    records.delete(0)
    expect(await rejection(days.prepare(entriesOf(20, 21, 21)))).to.be.instanceOf(LostRecordError)
    expect([told.asked, days.has(dayName(21))]).to.deep.equal([[`PUT /${dayName(21)}`], true])
    records.set(0, { index: build, partition: 0 })
    await days.prepare(entriesOf(21))
    expect(records.get(0)?.['days']).to.deep.equal([{ name: dayName(21), uuid: 'new 1' }])
    const { looks } = told
    await days.prepare(entriesOf(21))
    expect([told.asked.length, told.looks - looks], 'nothing is asked').to.deep.equal([1, 0])
    days.forget([dayName(21)])
    await days.prepare(entriesOf(21))
    await days.restore(dayName(22))
    await days.restore(`x-${build}-other-2026.11.22`)
    expect(told.asked.slice(1)).to.deep.equal([`PUT /${dayName(21)}`, `PUT /${dayName(22)}`])
    expect(records.get(0)?.['days']).to.have.length(2)
  })

  it('are not named by one of several writers', async () => {
    const { told, place } = createWorld()
    const days = createDayIndices(place, { ...made, share: '0' }, [])
    await days.prepare(entriesOf(21))
    expect([told.asked.length, told.updates]).to.deep.equal([1, 0])
  })
})

describe('the watch over the day indices of a build, by scripted answers', () => {
  const createWatch = () => {
    const world = createWorld()
    const at = { nowMs: 0, forbids: 0 }
    const forbid = async (): Promise<void> => void at.forbids++
    const watch = createDayWatch(world.place, build, () => true, { now: () => at.nowMs, forbid })
    /** Whether it has looked by then. */
    const looksAt = async (nowMs: number): Promise<boolean> => {
      const { forbids } = at
      at.nowMs = nowMs
      await watch.look()
      return at.forbids > forbids
    }
    return { ...world, watch, looksAt }
  }

  it('looks five seconds after anything has changed, and else each minute', async () => {
    const { there, records, told, looksAt } = createWatch()
    there.set(dayName(21), { uuid: 'a21' })
    expect([await looksAt(4_999), await looksAt(5_000)]).to.deep.equal([false, true])
    expect(records.get(0)?.['days']).to.deep.equal([{ name: dayName(21), uuid: 'a21' }])
    told.version = 2
    expect([await looksAt(9_999), await looksAt(10_000)]).to.deep.equal([false, true])
    expect([await looksAt(69_999), await looksAt(74_999)], 'nothing has changed').to.deep.equal([false, true])
  })

  it('looks at once after what has failed', async () => {
    const { told, watch, looksAt } = createWatch()
    expect(await looksAt(5_000)).to.equal(true)
    expect(await watch.orLookSoon(Promise.resolve(7))).to.equal(7)
    expect(await looksAt(5_000)).to.equal(false)
    expect(String(await rejection(watch.orLookSoon(Promise.reject(new Error('closed')))))).to.equal('Error: closed')
    expect([told.version, await looksAt(5_000), await looksAt(5_000)]).to.deep.equal([1, true, false])
  })

  it('forbids automatic indices each minute, and at once where it could not', async () => {
    const { told, place } = createWorld()
    let nowMs = 0
    let fails = true
    const send: Place['elasticsearch']['send'] = async (call) => {
      if (fails) throw new Error('not now')
      return place.elasticsearch.send(call)
    }
    const forbid = createForbid({ ...place, elasticsearch: { ...place.elasticsearch, send } }, () => nowMs)
    nowMs = 59_999
    await forbid()
    nowMs = 60_000
    expect(String(await rejection(forbid()))).to.equal('Error: not now')
    fails = false
    for (let times = 0; times < 2; times++) await forbid()
    expect(told.asked).to.deep.equal(['PUT /_index_template/x-state'])
  })
})
