import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createPassOver } from '#src/compose/threads/lost-messages.ts'
import { isErasure } from '#src/events/erasure.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { missingAt } from '#streams/jetstream/stored.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { noon } from '../support/make-event.ts'
import { readAll } from '../support/read-all.ts'

const log = logName('2', 'shop')
const missing = (sequence: number) => missingAt(sequence, log)

describe('a log of which messages are missing', () => {
  /** What was told, and how many events say that something is given up, after a fold has ended by each of these. */
  async function after(failures: readonly unknown[], allowLostLog: boolean) {
    const told: string[] = []
    const stream = createMemoryStream({ partition: '2' })
    const options = {
      allowLostLog,
      clock: () => noon,
      newId: () => '0'.repeat(32),
      tell: (line: string) => void told.push(line),
    }
    const passOver = createPassOver(options)
    for (const failure of failures) await passOver(stream, failure)
    const given = (await readAll(stream)).filter(isErasure).length
    return { told, given }
  }

  it('is folded on without them when somebody says so, once they were missing twice', async () => {
    expect(await after([missing(5)], true)).to.deep.equal({ told: [], given: 0 })
    expect(await after([missing(5), missing(5)], true)).to.deep.equal({
      told: [
        'partition 2 goes on without what is missing in its log so far, as ALLOW_LOST_LOG says: read message 5 of stream shop-TELEMETRY_2; ' +
          'take ALLOW_LOST_LOG away, or this happens again unasked',
      ],
      given: 1,
    })
  })

  it('is given up once for each two failures, as where one that holds it up comes again', async () => {
    const toldAfter = async (count: number) => (await after(Array<unknown>(count).fill(missing(5)), true)).told
    expect(await toldAfter(3)).to.have.length(1)
    expect(await toldAfter(4)).to.have.length(2)
  })

  it('is not where nobody does, others are missing each time, or it is something else', async () => {
    const nothing = { told: [], given: 0 }
    expect(await after([missing(5), missing(5), missing(5)], false)).to.deep.equal(nothing)
    expect(await after([missing(5), missing(6), missing(5)], true)).to.deep.equal(nothing)
    const other = new PermanentError({ operation: 'read message 5 of', subject: 'stream shop-TELEMETRY_2' })
    expect(await after([other, other], true)).to.deep.equal(nothing)
  })
})
