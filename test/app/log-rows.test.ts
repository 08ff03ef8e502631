import { expect } from 'chai'
import { logRows } from '#src/app/search/log-rows.ts'
import { turnsOf } from '#test/support/turns.ts'

describe('the rows of logs', () => {
  it('are drawn with turns for others between them, however large the records are', async () => {
    const fields = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`field_${n}`, 'x'.repeat(90)]))
    const log = { timestamp: '2026-11-30T03:00:00.000000000Z', level: null, service: null, message: 'paid', fields }
    const none = { trace_id: null, span_id: null, session_id: null }
    const logs = Array.from({ length: 100 }, (_, n) => ({ ...log, ...none, id: `log-${n}` }))
    const turns = await turnsOf(() => logRows(logs, { linksFor: () => () => undefined, shown: [] }))
    expect(turns).to.be.at.least(2)
  })
})
