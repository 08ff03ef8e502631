import { expect } from 'chai'
import { answerTo, statusOf } from '#src/http/errors.ts'
import { LateError, PermanentError, TransientError } from '#src/lib/failure.ts'

describe('what is told of a failure of ours', () => {
  it('is what may help: to send the same again only where that may pass', () => {
    const context = { operation: 'open', subject: 'the inner file' }
    const told = [
      [new TransientError(context), 'Send it again'],
      [new Error('of some kind'), 'Send it again'],
      [new LateError(context), 'Ask for less'],
      [new PermanentError(context), 'whoever runs it'],
    ] as const
    for (const [error, said] of told) {
      const { code, detail } = answerTo(error)
      expect(statusOf(code), 'senders drop their data on 500').to.equal(503)
      expect(detail).to.include(said).and.not.include('inner file')
      expect(detail.includes('Send it again')).to.equal(said === 'Send it again')
    }
  })
})
