import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import { isDeadLetterDecision } from '#src/events/dead-letter.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { readAll } from '#test/support/read-all.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { append } from '#test/support/projector-run.ts'

describe('dead letters that are retried', () => {
  it('come back for the fold that they are letters of alone, however often they are retried, and say why until they are cut', async () => {
    const stream = createMemoryStream({ partition: '0' })
    const letters = createDeadLetters({ stream, clock: () => 5 })
    await append(stream, [['poison']])
    const [event] = (await readAll(stream)) as [RecordedEvent]
    const reason = new PermanentError({ operation: 'fold', subject: 'poison' })
    let at = event.position
    for (let time = 0; time < 3; time++) {
      await letters.put(counting, new PoisonError({ ...event, position: at }, reason))
      await letters.settle(counting, at, 'retried')
      const retry = (await readAll(stream)).findLast(isDeadLetterDecision) as RecordedEvent
      at = retry.position
      expect(await letters.brought(counting, retry)).to.deep.equal({ ...event, position: at })
      for (const other of [mirror, { ...counting, version: 2 }])
        expect(await letters.brought(other, retry)).to.equal(undefined)
    }
    for (const letter of await letters.letters(counting)) expect(await letters.reason(letter)).to.equal(reason.message)
    await stream.cut(event.position)
    expect(await letters.event(event.position)).to.equal(undefined)
  })
})
