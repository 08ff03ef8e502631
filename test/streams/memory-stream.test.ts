import { expect } from 'chai'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { streamContract } from '#test/contracts/stream.ts'

streamContract('memory', {
  durable: false,
  create: async () => {
    const stream = createMemoryStream({ partition: '0' })
    return { open: async () => stream, cleanUp: async () => undefined }
  },
})

describe('the memory stream', () => {
  it('takes its epoch from who makes it', () => {
    expect(createMemoryStream({ partition: '3', epoch: 'fixed' })).to.include({ partition: '3', epoch: 'fixed' })
  })
})
