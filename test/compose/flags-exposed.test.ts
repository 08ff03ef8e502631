import { expect } from 'chai'
import { flagsExposed } from '#src/compose/ingest-routes.ts'
import type { Key } from '#src/directory/directory.ts'
import { TransientError } from '#src/lib/failure.ts'

describe('a leaked key that cannot be flagged', () => {
  const { error } = console
  let told: unknown[][]

  beforeEach(() => {
    told = []
    console.error = (...line) => void told.push(line)
  })
  afterEach(() => {
    console.error = error
  })

  it('is told of in one line, however often it is sent', async () => {
    const failure = new TransientError({
      operation: 'append to log',
      subject: 'directory.db',
      hint: 'the disk is full',
    })
    const failed: Promise<void>[] = []
    const flagExposed = (): Promise<void> => {
      const one = Promise.reject(failure)
      failed.push(one)
      return one
    }
    const flag = flagsExposed({ flagExposed }, () => 0)
    for (let time = 0; time < 3; time++) flag({} as Key)
    await Promise.allSettled(failed)
    expect(told).to.deep.equal([
      [
        'a leaked key could not be flagged; trying again where it is sent again: append to log directory.db (the disk is full)',
      ],
    ])
  })
})
