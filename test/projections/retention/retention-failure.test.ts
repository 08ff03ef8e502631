import { expect } from 'chai'
import type { RetentionOptions } from '#projections/retention/retention.ts'
import { startRetention } from '#projections/retention/retention-schedule.ts'
import { createMemoryIndexStore } from '#projections/stores/memory/store.ts'
import { limits } from '#src/config.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { lineEvent } from '#test/support/line-projections.ts'

describe('retention of a log that cannot be read', () => {
  it('is said to have failed, and tries again at its next time; nothing is said of one that was stopped', async () => {
    const log = createMemoryStream({ partition: '0' })
    await log.append([lineEvent(1, ['a line'])])
    let onRead = (): void => {
      throw new Error('a damaged event')
    }
    const stream: Stream = { ...log, read: async (...asked) => (onRead(), log.read(...asked)) }
    const said: string[] = []
    let [paused, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const options: RetentionOptions = {
      stream,
      writer: createMemoryIndexStore().writer,
      projections: [],
      clock: () => 0,
      timers: {
        every: () => () => undefined,
        turn: async () => undefined,
        pause: () => (paused.resolve(), resumed.promise),
      },
      limits,
      keepings: async () => ({ of: () => ({ retentionDays: 7 }), all: [] }),
    }
    const stop = startRetention(options, {
      onRetained: () => void said.push('done'),
      onFailure: (error) => void said.push(String(error)),
      onWaiting: () => void said.push('waits'),
    })
    const turn = async (happens: () => void): Promise<void> => {
      onRead = happens
      const { resolve } = resumed
      ;[paused, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      resolve()
      await paused.promise
    }
    await paused.promise
    expect(said).to.deep.equal(['Error: a damaged event'])
    await turn(() => undefined)
    expect(said.slice(1)).to.deep.equal(['done'])
    await turn(() => {
      stop()
      throw new Error('the log was closed')
    })
    expect(said).to.have.length(2)
  })
})
