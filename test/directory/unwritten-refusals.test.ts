import { expect } from 'chai'
import type { Stream } from '#streams/stream.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { rejection } from '#test/streams/read-all.ts'
import { newStream, openDirectory } from './harness.ts'

describe('refused sign-ins that could not be written', () => {
  it('are counted into a later entry of the audit', async () => {
    const away = new TransientError({ operation: 'append to', subject: 'the log' })
    let isAway = true
    const log = newStream()
    const stream: Stream = {
      ...log,
      append: (...given) => (isAway ? Promise.reject(away) : log.append(...given)),
    }
    const { directory, clock } = await openDirectory({ stream })
    const refuse = (): Promise<void> => directory.recordFailedSignIn({ userId: null, address: '192.0.2.1' })
    expect(await rejection(refuse())).to.equal(away)
    await refuse()
    isAway = false
    clock.advance(3_600_000)
    await refuse()
    await directory.close()
    const counts = (await log.read(0, 100)).map(
      ({ payload }) => JSON.parse(Buffer.from(payload).toString()) as JsonObject,
    )
    expect(counts.map(({ count }) => count)).to.deep.equal([1, 2])
  })
})
