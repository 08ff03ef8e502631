import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { describe, it } from 'mocha'
import { limits } from '#src/config.ts'
import { positionStep } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createAppendShared, type SharedLimits } from '#streams/jetstream/append-shared.ts'
import { decodeMessage, messageBytes, packEvent } from '#streams/jetstream/message.ts'
import type { Outgoing, Published, Publisher } from '#streams/jetstream/publish.ts'
import { createSubjects, logName } from '#streams/jetstream/subjects.ts'
import { makeLarge, makeLine } from '../support/make-event.ts'

const messageMax = 1_000_000

/** Appends by what publishes in the place of a server. */
function appendingBy(publish: Publisher['publish'], given: Partial<SharedLimits> = {}) {
  const publisher = { publish, messageBytesMax: () => messageMax, messagesOf: () => 1, lookUp: async () => undefined }
  return createAppendShared(createSubjects(logName('0'), 'epoch'), publisher, { ...limits, ...given })
}

describe('appends that share messages', () => {
  it('go each by itself, some at once, however many were before', async () => {
    let sequence = 1
    const underWay: (readonly Outgoing[])[] = []
    const all = Promise.withResolvers<void>()
    let isHeld = false
    const publish = async (messages: readonly Outgoing[]): Promise<Published> => {
      const published = { kind: 'stored', sequences: messages.map((_, index) => sequence + index) } as const
      sequence += messages.length
      if (!isHeld) return published
      if (underWay.push(messages) === 3) all.resolve()
      await all.promise
      return published
    }
    const append = appendingBy(publish)
    const appendOf = (workspace: string) => append([packEvent(makeLine('line', workspace))])
    for (let times = 0; times < 40; times++) await appendOf('acme')
    isHeld = true
    await Promise.all(['acme', 'beta', 'gamma'].map(appendOf))
    expect(underWay.map(({ length }) => length)).to.deep.equal([1, 1, 1])
  })

  /** A server that answers each step when it is let; the steps, each with the numbers of events of its messages. */
  function held(given: Partial<SharedLimits> = {}) {
    const steps: Readonly<{ messages: readonly Outgoing[]; end: PromiseWithResolvers<Published> }>[] = []
    const publish = (messages: readonly Outgoing[]): Promise<Published> => {
      const end = Promise.withResolvers<Published>()
      steps.push({ messages, end })
      return end.promise
    }
    const append = appendingBy(publish, given)
    const sizes = () => steps.map(({ messages }) => messages.map(({ data }) => decodeMessage(data, 1, 'LOG').length))
    const appendLarge = (workspace: string) => {
      const fields = { workspaceId: workspaceIdOf(workspace), identified: false }
      return append([packEvent(makeLarge('large', 2 * messageMax, fields))])
    }
    return {
      append: (workspace: string) => append([packEvent(makeLine('line', workspace))]),
      appendLarge,
      steps,
      sizes,
    }
  }

  it('go with all that came while a message of theirs was under way', async () => {
    const { append, steps, sizes } = held()
    const first = append('acme')
    await turn()
    const later = [append('acme'), append('acme')]
    await turn()
    expect(sizes()).to.deep.equal([[1]])
    steps[0]?.end.resolve({ kind: 'stored', sequences: [1] })
    await first
    await turn()
    expect(sizes()).to.deep.equal([[1], [2]])
    steps[1]?.end.resolve({ kind: 'stored', sequences: [2] })
    expect((await Promise.all(later)).map(({ last }) => last)).to.deep.equal([8_191, 8_192])
  })

  it('fail all together where their message does, and the next goes out', async () => {
    const { append, steps } = held()
    const together = [append('acme'), append('acme')]
    await turn()
    const next = append('acme')
    steps[0]?.end.reject(new Error('no answer'))
    const outcomes = await Promise.allSettled(together)
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    await turn()
    steps[1]?.end.resolve({ kind: 'stored', sequences: [1] })
    expect((await next).last).to.equal(4_096)
  })

  it('of very many workspaces go in steps that a server takes, where some are more than it takes in a message', async () => {
    const { append, appendLarge, steps } = held()
    const calls = Array.from({ length: 32 }, (_, workspace) => append(`alone-${workspace}`))
    calls.push(appendLarge('large'))
    for (let workspace = 0; workspace < 600; workspace++) calls.push(append(`w-${workspace}`))
    await turn()
    const sent = steps.at(-1)?.messages.map(({ data }) => Math.ceil(data.length / messageMax)) ?? []
    expect(sent[0]).to.equal(3)
    expect(sent.reduce((sum, count) => sum + count)).to.equal(512)
    for (let turns = 0; turns < 10; turns++) {
      for (const { end, messages } of steps) end.resolve({ kind: 'stored', sequences: messages.map(() => 5) })
      await turn()
    }
    await Promise.all(calls)
  })

  for (const [what, given] of [
    ['events', { appendBatchEventsMax: 3 }],
    ['bytes', { appendBatchBytesMax: 3 * messageBytes([packEvent(makeLine('line', 'w-00'))]) }],
  ] as const) {
    it(`of very many workspaces go in steps of so many ${what}, one after the other`, async () => {
      const { append, steps, sizes } = held(given)
      const calls = Array.from({ length: 32 + 4 }, (_, workspace) => append(`w-${10 + workspace}`))
      await turn()
      calls.push(append('w-99'))
      await turn()
      const alone = Array.from({ length: 32 }, () => [1])
      expect(sizes()).to.deep.equal([...alone, [1, 1, 1]])
      // As of the second one were of two messages.
      steps.at(-1)?.end.resolve({ kind: 'stored', sequences: [1, 3, 4] })
      const placed = (await Promise.all(calls.slice(32, 35))).map(({ last }) => last / positionStep)
      expect(placed).to.deep.equal([1, 3, 4])
      await turn()
      expect(sizes().slice(33)).to.deep.equal([[1, 1]])
      for (const { end, messages } of steps) end.resolve({ kind: 'stored', sequences: messages.map(() => 5) })
      await Promise.all(calls)
    })
  }
})
