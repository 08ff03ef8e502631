import { expect } from 'chai'
import { arrivalOf } from '#src/app/account/arrival.ts'
import { connections } from '#src/app/guides/connections.ts'
import { present } from '#src/lib/assert.ts'
import type { FirstRecord, KeyUse } from '#projections/allowance/query.ts'

describe('what has arrived by a key', () => {
  const arrival = (use: Partial<KeyUse> | undefined) =>
    arrivalOf(present(connections[0], 'there is one'), use as KeyUse | undefined, '/again')
  const first = (record: Partial<FirstRecord>) =>
    arrival({
      first: {
        at: Date.UTC(2026, 10, 21, 12),
        service: null,
        traceId: null,
        sessionId: null,
        ...record,
      } as FirstRecord,
    })

  it('is waited for, also while all of it was rejected', () => {
    for (const use of [undefined, {}])
      expect(arrival(use)).to.include({ state: 'waiting', text: 'Waiting for the first span …' })
    const { state, text, link } = arrival({ refused: { at: 0, reason: 'rejected_invalid' } })
    expect([state, link.path]).to.deep.equal(['refused', '/app/usage'])
    expect(text).to.include('was rejected: their ids are not valid. Still waiting for the first span.')
    // Of an index that a later version has written.
    const other = arrival({ refused: { at: 0, reason: 'another' } })
    expect(other.text).to.include('was rejected: they could not be taken. ')
  })

  it('leads to where it is found', () => {
    const traceId = '5b8efff798038103d269b633813fc60c'
    const leads = [
      [{ kind: 'span', traceId }, `/app/trace/${traceId}`],
      [{ kind: 'rumEvent', traceId, sessionId: 's' }, `/app/trace/${traceId}`],
      [{ kind: 'rumEvent', sessionId: 's/1' }, '/app/find?id=s%2F1'],
      [{ kind: 'rumEvent' }, '/app'],
      [{ kind: 'log', traceId, service: 'a&b' }, '/app/logs?service=a%26b'],
      [{ kind: 'log', sessionId: 's' }, '/app/logs'],
      [{ kind: 'log' }, '/app/logs'],
    ] as const
    for (const [record, path] of leads) expect(first(record).link.path, JSON.stringify(record)).to.equal(path)
    expect(first({ kind: 'log', service: 'shop' })).to.include({
      state: 'arrived',
      text: 'The first log record has arrived from the service shop, at 12:00:00 UTC.',
    })
    expect(first({ kind: 'log' }).text).to.equal('The first log record has arrived, at 12:00:00 UTC.')
  })
})
