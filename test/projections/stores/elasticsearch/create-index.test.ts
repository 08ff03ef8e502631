import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createIndex, prepareState } from '#projections/stores/elasticsearch/indices.ts'
import type { Elasticsearch } from '#projections/stores/elasticsearch/call.ts'
import { defaultSettings } from '#projections/stores/elasticsearch/mapping.ts'
import { createNames } from '#projections/stores/elasticsearch/names.ts'
import { createRecords } from '#projections/stores/elasticsearch/records.ts'
import { PermanentError } from '#src/lib/failure.ts'

/** What creating an index ends with where the server answers 400 with this error. */
const failureFor = (type: string, reason: string): Promise<Error | undefined> => {
  const send: Elasticsearch['send'] = async () => ({ status: 400, body: { error: { type, reason } } })
  return createIndex({ send, close: async () => undefined }, 'lines-1', {}).then(
    () => undefined,
    (error: unknown) => error as Error,
  )
}

describe('an index of Elasticsearch that is not made', () => {
  it('is tried again where the nodes have as many shards as they may, and it is said what to do', async () => {
    const reason =
      'Validation Failed: 1: this action would add [2] shards, but this cluster currently has [3000]/[3000] maximum normal shards open;'
    const failure = await failureFor('validation_exception', reason)
    expect(failure?.name).to.equal('TransientError')
    expect(failure?.message).to.contain('[3000]/[3000]').and.contain('raise cluster.max_shards_per_node')
  })

  it('is tried again where something else of an operator is in its way, which the reason says, unless it is there', async () => {
    const reason = 'Limit of total fields [2] has been exceeded'
    const failure = await failureFor('illegal_argument_exception', reason)
    expect(failure?.name).to.equal('TransientError')
    expect(failure?.message).to.contain(reason).and.contain('template')
    expect(await failureFor('resource_already_exists_exception', 'it is there')).to.equal(undefined)
  })
})

describe('the index of records', () => {
  it('is used as it is where the user may not change how it is refreshed', async () => {
    const refused: string[] = []
    const send: Elasticsearch['send'] = async ({ operation, subject, path, accept = [] }) => {
      if (!path.endsWith('/_settings')) return { status: 200, body: {} }
      if (!accept.includes(403)) throw new PermanentError({ operation, subject })
      refused.push(path)
      return { status: 403, body: {} }
    }
    const [elasticsearch, names] = [{ send, close: async () => undefined }, createNames('x')]
    const stateVersion = async (): Promise<number> => 0
    await prepareState(
      { elasticsearch, names, records: createRecords(elasticsearch, names), stateVersion, partition: 0 },
      defaultSettings,
    )
    expect(refused).to.deep.equal(['/x-state/_settings'])
  })
})
