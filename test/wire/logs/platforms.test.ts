import { expect } from 'chai'
import { limits } from '#src/config.ts'
import type { LogRecord } from '#src/events/telemetry.ts'
import { decodeLogs } from '#src/wire/logs/decode.ts'

const time = '2026-11-29T09:46:42.080Z'
const ms = Date.parse(time)
const timeNs = BigInt(ms) * 1_000_000n
const one = (sent: Readonly<Record<string, unknown>>): LogRecord =>
  decodeLogs(Buffer.from(JSON.stringify(sent)), 'application/json', { receivedAt: 0, limits })[0] as LogRecord

describe('what platforms write of the programs that they run', () => {
  it('is a call of a Worker with all that was said in it', () => {
    const call = { outcome: 'ok', scriptName: 'shop', eventTimestamp: ms, event: null, exceptions: [] }
    const level = (outcome: string, ...levels: readonly string[]): string | null =>
      one({ ...call, outcome, logs: levels.map((each) => ({ level: each, message: ['x'] })) }).level
    expect(one({ ...call, logs: [] })).to.include({ timeNs, service: 'shop', level: null, message: '' })
    expect(level('ok', 'log', 'warn', 'debug')).to.equal('warn')
    expect(level('ok', 'constructor')).to.equal(null)
    expect(level('canceled', 'debug')).to.equal('debug')
    expect(level('exceededCpu', 'log')).to.equal('error')
    expect(level('success', 'log')).to.equal('info')
    expect(one({ Outcome: 'success', ScriptName: 'deploy.sh' }).level).to.equal(null)
    const logs = [{ message: ['a', 7, 'b'] }, 'x', { message: 'c' }, { message: [7] }]
    expect(one({ ...call, logs, exceptions: [{ name: 'E', message: 'd' }, null] })).to.include({
      message: 'a b\nc\nE: d',
      level: 'error',
    })
    expect(one({ Outcome: 'ok', ScriptName: 'shop', EventTimestampMs: ms })).to.include({ timeNs, service: 'shop' })
  })

  it('is a line of Supabase, with what was made of it', () => {
    const line = { event_message: 'ready', timestamp: time }
    expect(one({ ...line, metadata: [{ level: 'warn' }] })).to.include({ timeNs, level: 'warn', message: 'ready' })
    expect(one({ ...line, metadata: [{ parsed: [{ error_severity: 'FATAL' }] }] }).level).to.equal('fatal')
    expect(one({ ...line, metadata: 7 })).to.include({ level: null, message: 'ready' })
  })

  it('is what Auth0 knows of a sign-in', () => {
    const of = (type: string, more = {}): LogRecord => one({ log_id: '7', data: { date: time, type, ...more } })
    expect(of('fp', { description: 'Wrong password.' })).to.include({
      timeNs,
      level: 'error',
      message: 'Wrong password.',
    })
    expect(of('s')).to.include({ level: 'info', message: 's' })
    const levels = (...types: readonly string[]) => types.map((type) => of(type).level)
    expect(levels('w', 'limit_wc', 'signup_pwd_leak', 'constructor')).to.deep.equal(['warn', null, null, null])
    const spoken = [
      'flows_execution_completed',
      'forms_submission_succeeded',
      'flows_execution_failed',
      'ciba_start_failed',
    ]
    expect(levels(...spoken)).to.deep.equal(['info', 'info', 'error', 'error'])
    const ofGuardian = ['gd_auth_succeed', 'gd_enrollment_complete', 'gd_send_sms_failure', 'gd_start_auth']
    expect(levels(...ofGuardian)).to.deep.equal(['info', 'info', 'error', null])
  })

  it('is an error of Lambda, and an event of EventBridge', () => {
    const error = { timestamp: time, log_level: 'ERROR', errorType: 'ValueError', errorMessage: 'declined' }
    expect(one(error)).to.include({ timeNs, level: 'error', message: 'declined' })
    const event = { 'detail-type': 'ECS Task State Change', source: 'aws.ecs', time, detail: { lastStatus: 'STOPPED' } }
    expect(one(event)).to.include({ timeNs, message: 'ECS Task State Change' })
  })

  it('is told by what stands beside it: the same names say nothing in others’ records', () => {
    for (const sent of [
      { outcome: 'ok', scriptName: 'deploy.sh' },
      { outcome: 'ok', logs: ['a'], id: 7, event: {} },
      { Outcome: 'won', Logs: [{ Message: ['x'] }] },
      { event_message: 'hi' },
      { date_time: time },
      { timeStamp: time },
      { Datetime: time },
      { EventTimestampMs: ms },
      { eventTimestamp: ms },
      { EventTime: time, SourceName: 'shop' },
      { data: { date: time, type: 'f' } },
      { log_id: 7, data: { date: time, type: 'f' } },
      { log_id: '7', data: { type: 'file' } },
      { errorMessage: 'x' },
      { 'detail-type': 'x', source: 'y' },
      { _service: 'shop' },
    ]) {
      expect(one(sent), JSON.stringify(sent)).to.deep.include({
        ...{ timeNs: 0n, level: null, message: '', service: null, cuts: [] },
      })
    }
  })
})
