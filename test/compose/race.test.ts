import { expect } from 'chai'
import { it } from 'mocha'
import { createRace } from '#src/compose/threads/race.ts'
import { positionStep } from '#src/events/envelope.ts'

it('a worker of a fold is ahead, once, where more than a 32nd of all events lies between it and the last one', () => {
  const isAhead = createRace(3, 64)
  const reports: readonly (readonly [share: number, events: number, ahead: boolean])[] = [
    // Before the third has said where it begins, nobody is.
    [0, 10, false],
    [1, 40, false],
    [2, 12, false],
    [1, 41, true],
    [1, 50, false],
    [2, 13, true],
    [0, 11, false],
    // The last one is when it has overtaken the others.
    [0, 60, true],
  ]
  for (const [share, events, ahead] of reports) expect(isAhead(share, events * positionStep)).to.equal(ahead)
})
