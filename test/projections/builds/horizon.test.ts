import { expect } from 'chai'
import { createHorizon } from '#projections/builds/horizon.ts'
import type { FrozenPart, IndexAudit } from '#projections/index-audit.ts'
import { logsProjection } from '#projections/logs/fold.ts'
import { tracesProjection } from '#projections/traces/fold.ts'
import { spanRecordId } from '#projections/traces/span-document.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

describe('the days of an index that can be compared with what is left of a log', () => {
  const nothing = { freeze: () => Promise.reject(new Error('nothing is read')) }
  const horizonOf = (
    projection: typeof logsProjection,
    isCut: boolean,
    expected: Pick<IndexAudit, 'freeze'> = nothing,
  ) => {
    const first = { position: 7, receivedAt: Date.parse('2026-11-10T23:59:00Z'), isCut }
    return createHorizon({ projection, index: 'one', first, firstDay: () => '2026-11-01', expected })
  }

  it('begin behind the day of the cut, and the one on which its events may come again', () => {
    const { comparedFrom, isTold } = horizonOf(logsProjection, true)
    expect(comparedFrom).to.deep.equal({ logs: '2026-11-12', seenEvents: '2026-11-12' })
    expect(['2026-11-11', '2026-11-12'].map((day) => isTold('logs', day))).to.deep.equal([false, true])
  })

  it('begin later where a day’s events may be folded into documents of days before', () => {
    expect(horizonOf(tracesProjection, true).comparedFrom).to.include({ traces: '2026-11-18', parts: '2026-11-18' })
  })

  it('are all of a log that was not cut', () => {
    const { comparedFrom, isTold } = horizonOf(logsProjection, false)
    expect([comparedFrom, isTold('logs', '2026-11-02')]).to.deep.equal([undefined, true])
  })

  it('are those that readers see, the first of them too', () => {
    const workspaceId = workspaceIdOf('acme')
    for (const isCut of [true, false]) {
      const seen = ['2026-10-31', '2026-11-01'].map((day) =>
        horizonOf(logsProjection, isCut).isSeen({ workspaceId, day }),
      )
      expect(seen).to.deep.equal([false, true])
    }
  })

  it('tell nothing of what the fold has in the days before them, nor of what belongs to that', async () => {
    const released: string[] = []
    const freeze: IndexAudit['freeze'] = async (_index, { day }) => {
      const entry = async (collection: string, id: string) =>
        [collection, id.replace(/0+$/, ''), day].join() === 'traces,before,2026-11-17' ? { id } : undefined
      return { entry, release: async () => void released.push(day) } as unknown as FrozenPart
    }
    const { isUnsure } = horizonOf(tracesProjection, true, { freeze })
    const ask = (collection: string, id: string) => isUnsure(workspaceIdOf('acme'), collection, id)
    expect([await ask('traces', 'before'), await ask('parts', 'before/2026-11-17/0')]).to.deep.equal([true, true])
    const span = (traceId: string) => spanRecordId(0n, traceId.padEnd(32, '0'), '0'.repeat(16))
    expect([await ask('spans', span('before')), await ask('spans', span('later'))]).to.deep.equal([true, false])
    released.length = 0
    expect([await ask('traces', 'later'), await ask('spans', 'before')]).to.deep.equal([false, false])
    expect(new Set(released).size, 'each day from that of the cut').to.equal(8)
  })
})
