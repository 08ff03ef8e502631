import { expect } from 'chai'
import { describe, it } from 'mocha'
import { limits } from '#src/config.ts'
import { createAppendShared } from '#streams/jetstream/append-shared.ts'
import { packEvent } from '#streams/jetstream/message.ts'
import type { Outgoing, Published, Publisher } from '#streams/jetstream/publish.ts'
import { createSubjects, logName } from '#streams/jetstream/subjects.ts'
import { makeLine } from './make-event.ts'

describe('appends that share messages', () => {
  it('go each by itself, some at once, however many were before', async () => {
    let sequence = 0
    const underWay: (readonly Outgoing[])[] = []
    const all = Promise.withResolvers<void>()
    let isHeld = false
    const publish = async (messages: readonly Outgoing[]): Promise<Published> => {
      sequence += messages.length
      const published = { kind: 'stored', sequence } as const
      if (!isHeld) return published
      if (underWay.push(messages) === 3) all.resolve()
      await all.promise
      return published
    }
    const publisher: Publisher = {
      publish,
      messageBytesMax: () => 1_000_000,
      messagesOf: () => 1,
      lookUp: async () => undefined,
    }
    const append = createAppendShared(createSubjects(logName('0'), 'epoch'), publisher, limits)
    const appendOf = (workspace: string) => append([packEvent(makeLine('line', workspace))])
    for (let times = 0; times < 40; times++) await appendOf('acme')
    isHeld = true
    await Promise.all(['acme', 'beta', 'gamma'].map(appendOf))
    expect(underWay.map(({ length }) => length)).to.deep.equal([1, 1, 1])
  })
})
