import { expect } from 'chai'
import { createWaiters } from '#streams/waiters.ts'
import { never } from '../support/read-all.ts'

describe('who waits for a log to grow', () => {
  it('is woken by what comes after the position, not by what was there', async () => {
    let head = 4_096
    const waiters = createWaiters(() => head)
    const waited = waiters.wait(4_096, never())
    waiters.wake(4_096)
    expect(waiters.waiting()).to.equal(true)
    head = 8_192
    waiters.wake(head)
    await waited
    expect(waiters.waiting()).to.equal(false)
    await waiters.wait(4_096, never())
  })
})
