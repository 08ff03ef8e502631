import { expect } from 'chai'
import { askInOrder } from '#projections/reading/ask-in-order.ts'
import type { IndexReader } from '#projections/index-store.ts'
import { withFirstDays } from '#projections/retention/first-days.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'

/** Questions that say when they are asked and answered; each is answered a turn later. */
function questions(names: readonly string[]) {
  const said: string[] = []
  const asks = names.map((name) => async () => {
    said.push(`ask ${name}`)
    await new Promise((resolve) => setImmediate(resolve))
    said.push(`answer ${name}`)
    return name
  })
  return { said, asks }
}

describe('questions in order', () => {
  const { reader } = createMemoryIndexStore()
  const inOrder: IndexReader = { ...reader, answersInOrder: true }

  it('wait for each other where the reader may answer a later one first', async () => {
    const { said, asks } = questions(['a', 'b'])
    expect(await askInOrder({ ...reader, answersInOrder: false }, asks)).to.deep.equal(['a', 'b'])
    expect(said).to.deep.equal(['ask a', 'answer a', 'ask b', 'answer b'])
  })

  it('are asked at once where it keeps their order', async () => {
    const { said, asks } = questions(['a', 'b'])
    expect(await askInOrder(inOrder, asks)).to.deep.equal(['a', 'b'])
    expect(said).to.deep.equal(['ask a', 'ask b', 'answer a', 'answer b'])
  })

  it('are asked so through a reader of the days that are kept', () => {
    expect(withFirstDays(inOrder, () => '')).to.have.property('answersInOrder', true)
    expect(withFirstDays({ ...reader, answersInOrder: false }, () => '').answersInOrder ?? false).to.equal(false)
  })
})
