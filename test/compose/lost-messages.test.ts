import { expect } from 'chai'
import { describe, it } from 'mocha'
import { createPassOver, passOverBehind } from '#src/compose/threads/lost-messages.ts'
import { isErasure } from '#src/events/erasure.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { missingAt } from '#streams/jetstream/stored.ts'
import { logName } from '#streams/jetstream/subjects.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvents, noon } from '../support/make-event.ts'
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

  /** How many events say that something is given up, and how often it was waited, where reads of 1,500 events first reject with these. */
  async function afterLook(failures: readonly Error[], stopsAfter = Infinity) {
    const memory = createMemoryStream({ partition: '2' })
    await memory.append(makeEvents(1_500))
    const ended = new AbortController()
    let waited = 0
    let read = 0
    const stream: Stream = {
      ...memory,
      read: async (after, max) => {
        const failure = after === 0 ? undefined : failures[read++]
        if (failure !== undefined) throw failure
        return memory.read(after, max)
      },
    }
    const pause = async (): Promise<void> => {
      if (++waited >= stopsAfter) ended.abort()
    }
    const given = { allowLostLog: true, clock: () => noon, newId: () => '0'.repeat(32), tell: () => undefined }
    await passOverBehind(stream, { passOver: createPassOver(given), timers: { pause }, signal: ended.signal })
    return [(await readAll(memory)).filter(isErasure).length, waited]
  }
  const failing = new TransientError({ operation: 'read', subject: 'a log' })
  const damaged = new PermanentError({ operation: 'read', subject: 'a log' })

  it('is read to its end, behind what is folded too, and what was missing twice is given up there', async () => {
    expect(await afterLook([])).to.deep.equal([0, 0])
    expect(await afterLook([missing(5), missing(5)])).to.deep.equal([1, 2])
    expect(await afterLook([missing(5)]), 'a fold has passed over it').to.deep.equal([0, 1])
    expect(await afterLook([failing, missing(5), failing, missing(5)])).to.deep.equal([1, 4])
    expect(await afterLook([damaged, missing(5), missing(5)]), 'who folds it says so').to.deep.equal([0, 0])
    expect(await afterLook([failing, failing, failing, failing], 3), 'until it ends').to.deep.equal([0, 3])
  })
})
