import { expect } from 'chai'
import type { RetentionDone } from '#src/compose/threads/projector-messages.ts'
import { createProjectorReport, type ProjectorReport } from '#src/compose/threads/projector-report.ts'

const retained = (done: Partial<RetentionDone>) =>
  ({ kind: 'retained', partition: '0', dropped: 0, cutTo: undefined, heldBy: [], givenUp: [], ...done }) as const

const failed = (projection: string, retried: boolean) =>
  ({ kind: 'failed', projection, reason: 'the disk is full', retried }) as const

/** The lines of an operator who hears these messages. */
function heard(act: (report: ProjectorReport) => void): readonly string[] {
  const lines: string[] = []
  const tell = (line: string): void => void lines.push(line)
  act(createProjectorReport({ tell, tellNews: (line) => tell(`news: ${line}`) }))
  return lines
}

describe('what is heard of a projector', () => {
  it('is which partitions it folds, until it ceases or ends', () => {
    const report = createProjectorReport()
    for (const partition of ['0', '1', '2']) report.hear({ kind: 'began', partition })
    report.hear({ kind: 'ceased', partition: '1' })
    expect(report.folded()).to.deep.equal(['0', '2'])
    report.ended()
    expect(report.folded()).to.deep.equal([])
  })
  it('is how many days were dropped, and how many builds hold logs, which ends with their partition, and their thread', () => {
    const report = createProjectorReport({ tell: () => undefined })
    report.hear(retained({ dropped: 3, heldBy: ['traces-v1-001'] }))
    report.hear(retained({ dropped: 4, partition: '1', heldBy: ['logs-v1-001', 'logs-v1-002'] }))
    expect([report.daysDropped(), report.buildsHolding()]).to.deep.equal([7, 3])
    report.hear({ kind: 'ceased', partition: '1' })
    expect([report.daysDropped(), report.buildsHolding()]).to.deep.equal([7, 1])
    report.ended()
    expect([report.daysDropped(), report.buildsHolding()]).to.deep.equal([7, 0])
  })
  it('is once what is tried again, and once what has stopped', () => {
    const lines = heard((report) => {
      for (const retried of [true, true, false, false, true]) report.hear(failed('logs', retried))
    })
    const [again, stopped] = ['is tried again', 'has stopped'].map(
      (what) => `projection logs ${what}: the disk is full`,
    )
    expect(lines).to.deep.equal([again, stopped, again])
  })
  it('is once what stops at each attempt, as where an older program holds a partition of a newer one', () => {
    const stopped = failed('logs of partition 1', false)
    const lines = heard((report) => {
      for (let attempt = 0; attempt < 3; attempt++) {
        report.hear(stopped)
        report.hear({ kind: 'ceased', partition: '1' })
      }
      report.ended()
      report.hear(stopped)
    })
    expect(lines).to.have.lengthOf(1)
  })
  it('is each build of a projection that stops, of which only a number tells it apart', () => {
    const lines = heard((report) => {
      for (const index of ['logs-v3-001', 'logs-v2-001', 'logs-v3-001'])
        report.hear({ ...failed('logs', false), reason: `open ${index}: it is not of the log` })
    })
    expect(lines).to.deep.equal(
      ['logs-v3-001', 'logs-v2-001'].map((index) => `projection logs has stopped: open ${index}: it is not of the log`),
    )
  })
  it('is once what stops at each attempt of a log that grows meanwhile', () => {
    const lines = heard((report) => {
      for (const end of [8192, 12_288]) {
        report.failed(`read log beyond 16384: it ends at ${end}: the log has lost its tail`)
        report.hear({ ...failed('logs', false), reason: `the log ends at ${end}` })
      }
    })
    expect(lines).to.have.lengthOf(2)
  })
  it('is why its thread ends without what would steer a terminal', () => {
    const lines = heard((report) => report.failed('no day is "\u001b]0;b\u0007"'))
    expect(lines).to.deep.equal([String.raw`the projector has ended: no day is "\u001b]0;b\u0007"`])
  })
  it('is once why its thread ends at each start', () => {
    const lines = heard((report) => {
      for (let start = 0; start < 3; start++) {
        report.failed('the disk is full')
        report.ended()
      }
    })
    expect(lines).to.deep.equal(['the projector has ended: the disk is full'])
  })
  it('is what has stopped once more where it was folded on meanwhile', () => {
    const stopped = failed('logs', false)
    const lines = heard((report) => {
      report.hear(stopped)
      report.hear({ kind: 'recovered', projection: 'logs' })
      report.hear(stopped)
    })
    expect(lines).to.have.lengthOf(2)
  })
  it('is what a sender wrote without what would steer a terminal, or pass for a line of ours', () => {
    const reason = 'no level is "a\u001b]0;b\u0007\u009b2J"\r\nThroughline listening'
    const said = String.raw`no level is "a\u001b]0;b\u0007\u009b2J"\u000d\nThroughline listening`
    const lines = heard((report) => report.hear({ kind: 'leftOut', projection: 'logs', position: 4096, reason }))
    expect(lines).to.have.lengthOf(1)
    expect(lines[0]).to.match(/^projection logs leaves out the event at 4096 /)
    expect(lines[0]?.endsWith(`: ${said}`), lines[0]).to.equal(true)
  })
  it('is anew what a partition meets that is folded here again', () => {
    const trouble = failed('logs of partition 1', true)
    const lines = heard((report) => {
      report.hear(trouble)
      report.hear({ kind: 'ceased', partition: '0' })
      report.hear(trouble)
      report.hear({ kind: 'ceased', partition: '1' })
      report.hear(trouble)
    })
    expect(lines).to.have.lengthOf(2)
  })
  it('is anew what is met by a thread that was started again', () => {
    const trouble = failed('logs', true)
    const lines = heard((report) => {
      for (let time = 0; time < 2; time++) {
        report.hear(trouble)
        report.hear(trouble)
        report.ended()
      }
    })
    expect(lines).to.have.lengthOf(2)
  })
  it('is once which builds hold a log, and which is given up', () => {
    const lines = heard((report) => {
      report.hear(retained({ heldBy: ['logs-v1-001'] }))
      report.hear(retained({ heldBy: ['logs-v1-001'] }))
      report.hear(retained({ heldBy: ['logs-v1-001', 'traces-v1-001'] }))
      report.hear(retained({ givenUp: ['logs-v1-001'] }))
    })
    expect(lines).to.have.lengthOf(3)
    expect(lines[0]).to.include('logs-v1-001 has not folded its beginning yet')
    expect(lines[1]).to.include('logs-v1-001, traces-v1-001 has not folded its beginning yet')
    expect(lines[2]).to.include('logs-v1-001 of partition 0 has not been folded for too long')
  })
  it('is each day that retention comes to where it is behind', () => {
    const dayMs = 86_400_000
    const lines = heard((report) => {
      for (const standsAt of [0, 1, dayMs, undefined, dayMs])
        report.hear(retained(standsAt === undefined ? {} : { standsAt }))
    })
    expect(lines.map((line) => / as on (\S+) by now/.exec(line)?.[1])).to.deep.equal([
      '1970-01-01',
      '1970-01-02',
      '1970-01-02',
    ])
  })
  it('is why nothing expires', () => {
    const lines = heard((report) => {
      report.hear({ kind: 'notRetained', partition: '0', reason: 'the disk is full' })
      report.hear({ kind: 'retentionWaits', partition: '0', since: 0, until: 3_600_000 })
    })
    expect(lines[0]).to.equal('expired data of partition 0 could not be removed; trying again: the disk is full')
    expect(lines[1]).to.include(
      'since 1970-01-01T00:00:00.000Z: what has expired is removed at 1970-01-01T01:00:00.000Z',
    )
  })
  it('is once why nothing expires of a log that cannot be folded either, at each attempt', () => {
    const lines = heard((report) => {
      for (const partition of ['0', '1', '0', '1', '0']) {
        report.hear({ kind: 'began', partition })
        report.hear({ kind: 'notRetained', partition, reason: 'events at 17 are lost' })
        report.hear({ kind: 'ceased', partition })
      }
    })
    expect(lines).to.have.lengthOf(2)
  })
  it('is which event is left out, and when readers move', () => {
    const lines = heard((report) => {
      report.hear({ kind: 'leftOut', projection: 'logs', position: 7, reason: 'it cannot be read' })
      for (const moved of [false, true])
        report.hear({ kind: 'beside', projection: 'logs', index: 'logs-v2-001', live: 'logs-v1-001', moved })
    })
    expect(lines).to.deep.equal([
      'projection logs leaves out the event at 7 (see throughline dead-letters list): it cannot be read',
      'news: projection logs is folded into logs-v2-001; readers use logs-v1-001 until that has caught up',
      'news: projection logs: readers use logs-v2-001 now; logs-v1-001 is kept to roll back to',
    ])
  })
})
