import { expect } from 'chai'
import { exitCodeOf, reportFailure } from '#src/compose/failure.ts'
import { ConfigError } from '#src/config.ts'
import { TransientError } from '#src/lib/failure.ts'

describe('a request that failed, as the operator is told', () => {
  const { error: toConsole } = console
  let told: unknown[]
  beforeEach(() => {
    told = []
    console.error = (line) => void told.push(line)
  })
  afterEach(() => {
    console.error = toConsole
  })
  const report = (error: unknown): void =>
    reportFailure({ requestId: 'r1', method: 'POST', path: '/api/logs\n', error })

  it('is one line where the failure says itself what can be done', () => {
    const [operation, subject, hint] = ['append to log', 'data/log/0.db', 'the disk is full: free some space']
    report(new TransientError({ operation, subject, hint, cause: new Error('database or disk is full') }))
    expect(told).to.deep.equal([
      `POST "/api/logs\\n" failed (request r1): append to log data/log/0.db: database or disk is full (${hint})`,
    ])
  })

  it('is one line, and exit code 2, where the settings are wrong', () => {
    const error = new ConfigError('PORT is no number')
    report(error)
    expect(told).to.deep.equal(['POST "/api/logs\\n" failed (request r1): PORT is no number'])
    expect([error, new TypeError('odd')].map(exitCodeOf)).to.deep.equal([2, 1])
  })

  it('has a stack where nobody knows what it is', () => {
    report(new TypeError('odd'))
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/^POST .* TypeError: odd\n +at .*failure\.test\.ts/)
    report('thrown text')
    expect(told[1]).to.equal('POST "/api/logs\\n" failed (request r1): thrown text')
  })
})
