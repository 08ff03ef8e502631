import { expect } from 'chai'
import { levels, type Level } from '#src/events/telemetry.ts'
import {
  levelByName,
  levelByNumber,
  levelBySeverityNumber,
  levelByStatus,
  levelBySyslog,
} from '#src/wire/logs/level.ts'

describe('levels of log records', () => {
  const names: Readonly<Record<Level, string>> = {
    trace: 'trace TRACE Trace verbose silly finest finer trce t V',
    debug: 'debug DEBUG dbg dbug DEBG debu fine http D',
    info: 'info INFO information informational notice Notice log SUCCESS i',
    warn: 'warn warning WARNING wrn W',
    error: 'error ERROR err eror ERRO severe e',
    fatal: 'fatal critical CRITICAL crit alert emerg emergency panic dpanic F',
  }
  it('reads names in any case', () => {
    for (const level of levels) {
      for (const name of names[level].split(' ')) expect(levelByName(name), name).to.equal(level)
      for (const step of [1, 2, 3, 4]) expect(levelByName(`${level.toUpperCase()}${step}`)).to.equal(level)
    }
    expect(levelByName(' error ')).to.equal('error')
    expect(levelByName('\u001b[31mERROR\u001b[39m')).to.equal('error')
    for (const name of [
      '',
      'ok',
      'x',
      '30',
      'errors',
      'constructor',
      '__proto__',
      'info5',
      'a'.repeat(99),
      null,
      30,
      {},
    ]) {
      expect(levelByName(name), String(name)).to.equal(undefined)
    }
  })

  it("reads the levels between and beyond those that Go's slog names", () => {
    const written: Readonly<Record<Level, string>> = {
      trace: 'DEBUG-1 DEBUG-4 DEBUG-200',
      debug: 'DEBUG+1 DEBUG+3 INFO-1',
      info: 'INFO+1 INFO+3 WARN-1',
      warn: 'WARN+1 warn+3 ERROR-4',
      error: 'ERROR+1 ERROR+3',
      fatal: 'ERROR+4 ERROR+999',
    }
    for (const level of levels) {
      for (const name of written[level].split(' ')) expect(levelByName(name), name).to.equal(level)
    }
    for (const name of ['INFO+', 'INFO+1.5', 'INFO+1000', 'fatal+1', 'INFO +1']) {
      expect(levelByName(name), name).to.equal(undefined)
    }
  })

  it('takes a status only when it is a level word', () => {
    for (const word of ['error', 'warning', 'INFO', 'critical', 'emerg', 'debug'])
      expect(levelByStatus(word)).to.be.a('string')
    for (const word of ['ok', '200', 'failure', 'success', 'fine', 'd', 'http', 'done', 200, null]) {
      expect(levelByStatus(word), String(word)).to.equal(undefined)
    }
  })

  it("reads pino's tens and what lies between and above", () => {
    const pino: readonly (readonly [number, Level])[] = [
      [10, 'trace'], [20, 'debug'], [30, 'info'], [40, 'warn'], [50, 'error'], [60, 'fatal'], [25, 'debug'], [35, 'info'], [70, 'fatal'],
    ] // prettier-ignore
    for (const [number, level] of pino) {
      expect(levelByNumber(number), String(number)).to.equal(level)
      expect(levelByNumber(String(number))).to.equal(level)
    }
  })

  it("reads OpenTelemetry's 1 to 24", () => {
    for (let number = 1; number <= 24; number++) {
      const level = levels[Math.floor((number - 1) / 4)]
      expect(levelBySeverityNumber(number)).to.equal(level)
      if (number !== 10 && number !== 20) expect(levelByNumber(number), String(number)).to.equal(level)
    }
    for (const other of [0, -1, 25, Number.NaN, '', null]) expect(levelBySeverityNumber(other)).to.equal(undefined)
  })

  it('reads syslog severities where they are meant', () => {
    const expected = ['fatal', 'fatal', 'fatal', 'error', 'warn', 'info', 'info', 'debug', undefined]
    expect(expected.map((_level, severity) => levelBySyslog(severity))).to.deep.equal(expected)
  })
})
