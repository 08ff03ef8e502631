import { expect } from 'chai'
import { borrowEngine, lendEngines } from '../../infra/engines/lend.ts'
import { failureOf } from './failure-of.ts'

describe('engines that are lent', () => {
  it('are started once, when somebody asks, for all who do', async () => {
    const started: string[] = []
    const bring = (name: string) => async () => `${name}://${started.push(name)}`
    const lender = await lendEngines({ nats: bring('nats'), elasticsearch: bring('elasticsearch') })
    expect(started).to.deep.equal([])
    const borrowed = await Promise.all([borrowEngine('nats', lender), borrowEngine('nats', lender)])
    expect(borrowed).to.deep.equal(['nats://1', 'nats://1'])
    expect(await borrowEngine('nats', lender)).to.equal('nats://1')
    expect(started).to.deep.equal(['nats'])
  })

  it('say to all who ask why they could not be started', async () => {
    const lender = await lendEngines({ nats: () => Promise.reject(new Error('nats ended.\nThe end of its log: …')) })
    for (let asked = 0; asked < 2; asked++)
      expect(await failureOf(borrowEngine('nats', lender))).to.equal('nats ended.\nThe end of its log: …')
    expect(await failureOf(borrowEngine('kafka', lender))).to.equal('nobody lends kafka')
  })

  it('are none where nobody lends any', async () => expect(await borrowEngine('nats', {})).to.equal(undefined))
})
