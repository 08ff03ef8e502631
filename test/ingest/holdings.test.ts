import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { createHoldings } from '#src/ingest/holdings.ts'

describe('holdings of a month', () => {
  const open = () => {
    const holdings = createHoldings({ ledger: 'ledger', ticks: () => 0, limits })
    const add = (id: string): void =>
      holdings.add({ id, spans: 10, limit: 100, since: 0, usedBefore: 0, isNear: false })
    return { holdings, add }
  }

  it('grant nothing more of a reservation whose outcome is in doubt', () => {
    const { holdings, add } = open()
    add('first')
    holdings.doubt(holdings.grant({ spans: 1 }))
    expect(holdings.current()).to.equal(undefined)
    expect(holdings.find('first')).to.include({ isDoubtful: true, underWay: 0 })
  })

  it('go on with the newest reservation when an earlier one is in doubt, or is forgotten', () => {
    const { holdings, add } = open()
    add('first')
    const grant = holdings.grant({ spans: 1 })
    add('second')
    holdings.doubt(grant)
    expect(holdings.current()?.id).to.equal('second')
    holdings.forget('first')
    expect(holdings.current()?.id).to.equal('second')
  })

  it('grant nothing more of a reservation that is forgotten', () => {
    const { holdings, add } = open()
    add('first')
    holdings.forget('first')
    expect(holdings.current()).to.equal(undefined)
    expect(holdings.all()).to.deep.equal([])
  })

  it('have a warning to carry only where a silent request has passed a mark of a limit', () => {
    for (const [limit, usedBefore, isPassed] of [
      [100, 78, true],
      [100, 50, false],
      [100, 85, false],
      [null, 78, false],
    ] as const) {
      const { holdings } = open()
      holdings.add({ id: 'first', spans: 10, limit, since: 0, usedBefore, isNear: false })
      holdings.grant({ spans: 1, isSilent: true })
      expect(holdings.isUntold(), 'before the mark').to.equal(false)
      holdings.grant({ spans: 1, isSilent: true })
      holdings.grant({ spans: 1, isSilent: true })
      expect(holdings.isUntold(), String(usedBefore)).to.equal(isPassed)
      holdings.grant({ spans: 1 })
      expect(holdings.isUntold()).to.equal(false)
    }
  })

  it('count an event once that several requests were granted spans for', () => {
    const { holdings, add } = open()
    add('first')
    const grants = [holdings.grant({ spans: 2 }), holdings.grant({ spans: 2 })]
    for (const grant of grants) holdings.settle(grant, 'acme.traces.one')
    expect(holdings.find('first')).to.include({ granted: 2, underWay: 0 })
  })
})
