import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { startProcess } from '#test/support/server-process.ts'
import { checkAnswers } from './bench-client.ts'
import type { DriverAnswer } from './driver-task.ts'
import { createProtobufWriter } from './protobuf-writer.ts'
import { cpuOfStat, cpuSeconds, usedBetween, type Usage } from './process-usage.ts'
import { usedByPhase } from './phases.ts'
import { parseAnswer } from './raw-client.ts'
import { formatJson, formatTable, percentile, type Section } from './report.ts'

describe('bench', () => {
  describe('answers over a raw connection', () => {
    const text = 'HTTP/1.1 200 OK\r\nThroughline-Position: 0/4096\r\nContent-Length: 5\r\n\r\nhello'

    it('are taken when they are whole, and no byte more', () => {
      for (let length = 0; length < text.length; length++) {
        expect(parseAnswer(Buffer.from(text.slice(0, length)))).to.equal(undefined)
      }
      const parsed = parseAnswer(Buffer.from(`${text}HTTP/1.1 `))
      expect(parsed?.end).to.equal(text.length)
      expect(parsed?.answer.status).to.equal(200)
      expect(parsed?.answer.body.toString()).to.equal('hello')
    })

    it('are taken in chunks when the last of them is there', () => {
      const chunks = '4\r\nhell\r\n13\r\no, with 0\r\n\r\n in it\r\n0\r\n\r\n'
      const chunked = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`
      for (let length = 0; length < chunked.length; length++) {
        expect(parseAnswer(Buffer.from(chunked.slice(0, length)))).to.equal(undefined)
      }
      const parsed = parseAnswer(Buffer.from(chunked))
      expect(parsed?.end).to.equal(chunked.length)
      expect(parsed?.answer.body.toString()).to.equal('hello, with 0\r\n\r\n in it')
    })

    it('without a length are refused', () => {
      expect(() => parseAnswer(Buffer.from('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'))).to.throw('Content-Length')
      const unread = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n0\r\n\r\n'
      expect(() => parseAnswer(Buffer.from(unread))).to.throw('a chunk without its size')
    })
  })

  describe('work that went wrong', () => {
    const answered = (...answers: readonly string[]): DriverAnswer => ({
      seconds: 1,
      cpuSeconds: 0.5,
      latencies: new Float64Array(1),
      answers: new Map(answers.map((answer) => [answer, 1])),
      position: 1,
    })
    const check =
      (kind: 'traces' | 'logs', ...answers: readonly string[]) =>
      () =>
        checkAnswers(answered(...answers), kind, 500)

    it('is any answer but a whole success', () => {
      check('traces', '200 ')()
      check('logs', '200 {"accepted":500,"rejected":0,"errors":[]}')()
      for (const answer of ['503 ', '200 \n\u0012partial', '429 {}'])
        expect(check('traces', '200 ', answer)).to.throw('answered')
      for (const answer of [
        '200 {"accepted":499,"rejected":1,"errors":[]}',
        '200 {"accepted":0,"rejected":0,"errors":[]}',
        '503 {}',
        'others',
      ]) {
        expect(check('logs', answer), answer).to.throw('answered')
      }
    })
  })

  describe('report', () => {
    const sections: readonly Section[] = [
      {
        title: 'Some',
        rows: [
          {
            figure: 'cost',
            unit: 'CPU s',
            measured: 3,
            target: { bound: 'at most', value: 2 },
            floors: [
              { name: 'least', value: 1.5 },
              { name: 'nothing', value: 0 },
            ],
          },
          { figure: 'speed', unit: '/s', measured: 12_345, target: { bound: 'at least', value: 10_000 } },
        ],
      },
    ]

    it('shows a figure beside its target and floors', () => {
      const [title, , cost, more, speed] = formatTable(sections).split('\n')
      expect(title).to.equal('Some')
      expect(cost).to.match(/^cost +3 CPU s +at most 2 MISSED +1\.50 {2}least +2 x$/)
      expect(more).to.match(/^ +0 {2}nothing$/)
      expect(speed).to.match(/^speed +12,345 \/s +at least 10,000$/)
    })

    it('says what stands beside the figures when it is no floor, and what one must know to compare', () => {
      const compared = { ...(sections[0] as Section), beside: 'peer', notes: ['One syncs, the other does not.'] }
      const [, header, , , , note] = formatTable([compared]).split('\n')
      expect(header).to.match(/^figure +measured +target +peer +ratio$/)
      expect(note).to.equal('One syncs, the other does not.')
      expect(JSON.parse(formatJson({}, [compared])).notes).to.deep.equal([note])
    })

    it('is one JSON object for programs', () => {
      const { bench, figures } = JSON.parse(formatJson({ bench: 'ingest' }, sections))
      expect(bench).to.equal('ingest')
      expect(figures[0]).to.deep.include({ section: 'Some', measured: 3, met: false })
      expect(figures[0].floors).to.deep.equal([
        { name: 'least', value: 1.5, ratio: 2 },
        { name: 'nothing', value: 0, ratio: null },
      ])
      expect(figures[1].met).to.equal(true)
    })

    it('takes percentiles of what was measured', () => {
      const sorted = Float64Array.from({ length: 200 }, (_, index) => index + 1)
      expect([percentile(sorted, 0.5), percentile(sorted, 0.99), percentile(sorted, 1)]).to.deep.equal([100, 198, 200])
      expect(percentile(Float64Array.of(7), 0.99)).to.equal(7)
    })
  })

  it('refuses a form that a benchmark does not have', async () => {
    const bench = startProcess(['test/bench/bench.ts', 'peers', '--cluster'], {})
    const [code] = await once(bench.child, 'close')
    expect(code).to.equal(2)
    expect(bench.lines[0]).to.equal('peers has no form with --cluster')
  })

  it('tells CPU by purpose, threads that are new included', () => {
    const usage = (...threads: readonly (readonly [string, 'ingest' | 'project', number])[]): Usage =>
      new Map(threads.map(([id, purpose, seconds]) => [id, { purpose, seconds }]))
    const before = usage(['1/1', 'ingest', 2], ['1/2', 'project', 5])
    const after = usage(['1/1', 'ingest', 3], ['1/2', 'project', 5.5], ['1/3', 'ingest', 0.25])
    expect(usedBetween(before, after)).to.deep.equal({ ingest: 1.25, project: 0.5, query: 0, runtime: 0 })
  })

  describe('CPU of a process', () => {
    it('is its own in user and system mode, and that of children that have ended', () => {
      // Fields 14 to 17 of proc_pid_stat(5), here 1,200, 34, 500 and 66 ticks; the name may hold anything.
      const stat = '4711 (odd) name (x) S 1 4711 4711 0 -1 4194304 9 8 7 6 1200 34 500 66 20 0 12 0 99 1000 200'
      expect(cpuOfStat(stat)).to.equal(18)
    })

    it('counts what it has started', async () => {
      const spin = 'while (process.cpuUsage().user < 200_000) Math.sqrt(2)'
      const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(spin)}])`
      const child = spawn(process.execPath, ['-e', `${parent}; console.log('spun'); setInterval(() => {}, 1000)`])
      try {
        await once(child.stdout, 'data')
        expect(cpuSeconds(child.pid ?? 0)).to.be.at.least(0.1)
      } finally {
        child.kill('SIGKILL')
      }
    })

    it('cannot be told of one that is gone', () => {
      expect(() => cpuSeconds(2 ** 30)).to.throw('does not run')
    })
  })

  describe('what a verb uses in its phases', () => {
    const follow = (program: string) => {
      let asked = 0
      const verb = startProcess(['-e', program], {})
      return usedByPhase(verb, () => ({ seconds: asked++ }))
    }
    const say = (line: object): string => `console.log(${JSON.stringify(JSON.stringify(line))});`

    it('is told from one line of progress to the next, by phase', async () => {
      const lines = ['fold', 'fold', 'verify', 'fold', 'move'].map((phase) => say({ progress: { phase } }))
      const phases = await follow([...lines, say({ rebuilt: [] })].join(''))
      expect([...phases]).to.deep.equal([
        ['start', { seconds: 1 }],
        ['fold', { seconds: 3 }],
        ['verify', { seconds: 1 }],
      ])
    })

    it('is nothing when it fails', async () => {
      const failure = await follow(`console.log('no log'); process.exitCode = 2`).catch((error: unknown) => error)
      expect(String(failure)).to.match(/ended with 2:\nno log$/)
    })
  })

  it('writes protobuf with lengths of one and more bytes', () => {
    const writer = createProtobufWriter()
    const long = 'ü'.repeat(100_000)
    writer.message(1, () => {
      writer.text(1, 'a')
      writer.message(2, () => writer.text(1, long))
    })
    const bytes = writer.take()
    expect(bytes.subarray(0, 7).toString('hex')).to.equal('0acb9a0c0a0161')
    expect(bytes.subarray(7, 15).toString('hex')).to.equal('12c49a0c0ac09a0c')
    expect(bytes.subarray(-200_000).toString()).to.equal(long)
    expect(writer.take()).to.have.length(0)
  })
})
