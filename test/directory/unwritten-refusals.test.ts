import { expect } from 'chai'
import type { Stream } from '#streams/stream.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { rejection } from '#test/support/read-all.ts'
import { newStream, openDirectory } from './harness.ts'

describe('refused sign-ins that could not be written', () => {
  const away = new TransientError({ operation: 'append to', subject: 'the log' })
  async function openAway() {
    const log = newStream()
    const state = { isAway: true }
    const stream: Stream = {
      ...log,
      append: (...given) => (state.isAway ? Promise.reject(away) : log.append(...given)),
    }
    const { directory, clock } = await openDirectory({ stream })
    const refuse = (): Promise<void> => directory.recordFailedSignIn({ userId: null, address: '192.0.2.1' })
    const counts = async () => {
      await directory.close()
      const events = await log.read(0, 100)
      return events.map(({ payload }) => (JSON.parse(Buffer.from(payload).toString()) as JsonObject)['count'])
    }
    return { state, refuse, counts, nextHour: () => clock.advance(3_600_000) }
  }

  it('are counted into a later entry of the audit', async () => {
    const { state, refuse, counts, nextHour } = await openAway()
    expect(await rejection(refuse())).to.equal(away)
    await refuse()
    state.isAway = false
    nextHour()
    await refuse()
    expect(await counts()).to.deep.equal([1, 2])
  })

  it('are counted into a later one still, where that cannot be written either', async () => {
    const { state, refuse, counts, nextHour } = await openAway()
    for (let hour = 0; hour < 3; hour++) {
      expect(await rejection(refuse())).to.equal(away)
      nextHour()
    }
    state.isAway = false
    await refuse()
    expect(await counts()).to.deep.equal([1, 3])
  })
})
