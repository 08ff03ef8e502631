import { expect } from 'chai'
import { describe, it } from 'mocha'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { copiesOf, stepsOf } from '#streams/jetstream/copies.ts'
import { decodeMessage, messageBytes, packEvent } from '#streams/jetstream/message.ts'
import { createSubjects, logName } from '#streams/jetstream/subjects.ts'
import { makeLine, noon } from '../support/make-event.ts'

/** Lines that are recorded one behind the other. */
const recordedLines = (count: number): readonly RecordedEvent[] =>
  Array.from({ length: count }, (_, index) => ({ ...makeLine(`line-${index}`), position: (index + 1) * 4_096 }))

const copiesWithin = (events: readonly RecordedEvent[], messageBytesMax: number) => {
  const subjects = createSubjects(logName('0'), 'epoch-1')
  return copiesOf(events, { subjects, source: 'epoch-0', keepsPositions: false, messageBytesMax, now: noon })
}
const sizesOf = (events: readonly RecordedEvent[], messageBytesMax: number): readonly number[] =>
  copiesWithin(events, messageBytesMax).map(({ message }) => decodeMessage(message.data, 1, 'LOG').length)

describe('copies of neighbours', () => {
  it('share a message as far as it has places', () => {
    expect(sizesOf(recordedLines(4_096 + 3), 1e9)).to.deep.equal([4_096, 3])
  })

  it('share a message as far as it has bytes', () => {
    const lines = recordedLines(7)
    const threeBytes = messageBytes(lines.slice(0, 3).map(packEvent))
    expect(sizesOf(lines, threeBytes)[0]).to.equal(3)
    expect(sizesOf(lines, threeBytes - 1)[0]).to.equal(2)
    const messages = copiesWithin(lines, threeBytes).map(({ message }) => message.data.length)
    expect(Math.max(...messages)).to.equal(threeBytes)
  })

  it('go in steps of as many messages as the server takes', () => {
    const copies = copiesWithin(recordedLines(600), 1)
    const sizes = (messages: number) =>
      Array.from(
        stepsOf(copies, () => messages),
        ({ length }) => length,
      )
    expect(sizes(1)).to.deep.equal([512, 88])
    expect(sizes(3)).to.deep.equal([170, 170, 170, 90])
  })
})
