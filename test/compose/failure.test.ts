import { expect } from 'chai'
import { createFailureReport, exitCodeOf } from '#src/compose/failure.ts'
import { ConfigError } from '#src/config.ts'
import { TransientError } from '#src/lib/failure.ts'

describe('a request that failed, as the operator is told', () => {
  const { error: toConsole } = console
  let told: unknown[]
  let nowMs: number
  let reportFailure: ReturnType<typeof createFailureReport>
  beforeEach(() => {
    told = []
    nowMs = 0
    reportFailure = createFailureReport(() => nowMs)
    console.error = (line) => void told.push(line)
  })
  afterEach(() => {
    console.error = toConsole
  })
  const report = (error: unknown): void =>
    reportFailure({ requestId: 'r1', method: 'POST', path: '/api/logs\n', error })

  it('is one line, and what can be done, where the system gives no more threads', () => {
    report(Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' }))
    expect(told).to.deep.equal([
      'POST "/api/logs\\n" failed (request r1): start a thread: EAGAIN (this user, or its service, may have no more: raise ulimit -u, or TasksMax)',
    ])
  })

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

  it('has nothing in it that would steer a terminal, though what somebody wrote is quoted', () => {
    const cause = new Error('failed to parse "a\u001b]0;b\u0007\u009b2J"')
    for (const error of [new TransientError({ operation: 'search', subject: 'logs', cause }), cause, cause.message]) {
      report(error)
      expect(told.at(-1)).to.include(String.raw`failed to parse "a\u001b]0;b\u0007\u009b2J"`)
    }
  })

  it('is one line also where somebody wrote more that is quoted, which would pass for one of ours', () => {
    const cause = new Error('failed to parse "\r\nThroughline listening"')
    report(new TransientError({ operation: 'search', subject: 'logs', cause }))
    const said = String.raw`search logs: failed to parse "\u000d\nThroughline listening"`
    expect(told).to.deep.equal([String.raw`POST "/api/logs\n" failed (request r1): ${said}`])
  })

  it('has a stack where nobody knows what it is', () => {
    report(new TypeError('odd'))
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/^POST .* TypeError: odd\n +at .*failure\.test\.ts/)
    report('thrown text')
    expect(told[1]).to.equal('POST "/api/logs\\n" failed (request r1): thrown text')
  })

  it('is counted where a great many fail as all may, and told again a second later', () => {
    const full = new TransientError({ operation: 'append to log', subject: '0.db', hint: 'free some space' })
    for (let request = 0; request < 270; request++) report(full)
    expect(told).to.have.length(20)
    report(new TypeError('odd'))
    expect(told.at(-1)).to.match(
      /^POST .* failed \(request r1\); so did 250 more since the last such line: TypeError: odd/,
    )
    report(full)
    nowMs += 1_000
    report(full)
    report(full)
    expect(told).to.have.length(22)
    expect(told.at(-1)).to.match(/ failed \(request r1\); so did 1 more since the last such line: append to log 0\.db/)
  })
})
