import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import { createGatheredRecords, createRecords } from '#projections/stores/elasticsearch/records.ts'
import { answering } from '#test/support/answering-elasticsearch.ts'
import { rejection } from '#test/support/read-all.ts'

describe('the records of all builds', () => {
  const buildsBy = (list: (listing: number) => Promise<void>) => {
    let listings = 0
    const elasticsearch = answering(async ({ path }) => {
      if (!path.endsWith('/_search')) return {}
      const listing = ++listings
      await list(listing)
      return { hits: { hits: [{ _source: { listing } }] } }
    })
    const { builds } = createGatheredRecords(elasticsearch, createNames('x'))
    return async () => (await builds())[0]?.['listing']
  }

  it('are listed once for all who ask at once, and once more for who asks meanwhile: the first may lack what he has written', async () => {
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const listing = buildsBy(() => {
      asked.resolve()
      return answer.promise
    })
    const first = [listing(), listing()]
    await asked.promise
    const later = [listing(), listing()]
    answer.resolve()
    expect(await Promise.all([...first, ...later])).to.deep.equal([1, 1, 2, 2])
  })

  it('are listed anew after a failure', async () => {
    const listing = buildsBy(async (number) => {
      if (number === 1) throw new Error('not now')
    })
    const answers = await Promise.allSettled([listing(), listing()])
    expect(answers.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(await listing()).to.equal(2)
  })
})

describe('the list of all builds, by which others are removed', () => {
  it('is whole or none: of what a shard could show and find in time', async () => {
    const list = async (failed: number) => {
      const asked: unknown[] = []
      const elasticsearch = answering(({ path, query }) => {
        if (path.endsWith('/_refresh')) return { _shards: { failed } }
        asked.push(query)
        return { hits: { hits: [] } }
      })
      await createRecords(elasticsearch, createNames('x')).builds()
      return asked
    }
    expect(await list(0)).to.deep.equal([{ preference: '_local', allow_partial_search_results: false }])
    expect((await rejection(list(1))).name).to.equal('TransientError')
  })
})

describe('records that are asked for together', () => {
  it('are told as so many where they cannot be had: a trouble that stays reads alike, whoever else asks', async () => {
    const told: string[] = []
    const elasticsearch = answering(({ operation, subject }) => {
      told.push(`${operation} ${subject}`)
      throw new Error('not now')
    })
    const records = createGatheredRecords(elasticsearch, createNames('x'))
    const update = (id: string) => records.update({ id, fields: {}, unchanged: {} })
    for (const ids of [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ]) {
      await Promise.allSettled([...ids.map(records.read), ...ids.map(update)])
    }
    expect(told).to.deep.equal(['read 2 records', 'update 2 records', 'read 3 records', 'update 3 records'])
  })
})
