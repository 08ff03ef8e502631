import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createEventFile } from '#src/cli/replay-file.ts'
import { createTally } from '#src/cli/replay-tally.ts'
import type { EventType } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { makeEvent } from '#test/support/make-event.ts'
import { createServices, useInstallation } from './harness.ts'

const at = Date.parse('2026-11-21T12:00:00Z')

describe('what replay reads again', () => {
  const { run } = useInstallation()
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'replay-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const types: readonly EventType[] = ['spans.received', 'logs.received', 'rum.received']
  /** One a second of each type, in one log. */
  const threeEvents = async () => {
    const log = createMemoryStream({ partition: '0' })
    await log.append(types.map((type, n) => makeEvent(type, { type, receivedAt: at + n * 1_000 })))
    return { ...createServices(), openLogs: async () => [log] }
  }
  const replayed = async (...argv: readonly string[]) => {
    const { out, err } = await run(['replay', ...argv], { services: await threeEvents() })
    return { types: Array.from(out.matchAll(/"type":"(\w+)\.received"/g), ([, type]) => type), err }
  }

  it('is of a time of receipt, from its first moment and up to its last, and of the types that are named', async () => {
    const second = '2026-11-21T12:00:01Z'
    for (const [argv, found] of [
      [
        ['--from', second],
        ['logs', 'rum'],
      ],
      [['--to', second], ['spans']],
      [['--from', second, '--to', second], []],
      [['--from', '0/8192', '--to', '2026-11-21T12:00:02Z'], ['logs']],
      [['--from', second, '--to', '0/8192'], ['logs']],
      [
        ['--to', '8192'],
        ['spans', 'logs'],
      ],
      [['--from', '0/8192', '--to', '8192'], ['logs']],
      [
        ['--type', 'rum.received', '--type', 'spans.received'],
        ['spans', 'rum'],
      ],
    ] as const) {
      const { types, err } = await replayed(...argv)
      expect(types, `${argv.join(' ')} ${err}`).to.deep.equal(found)
    }
  })

  it('is of one workspace of a file, of which others are named where it has none, twenty at most', async () => {
    const write = async (workspaces: number): Promise<string> => {
      const path = join(folder, `${workspaces}`)
      const file = await createEventFile(path)
      for (let n = 1; n <= workspaces; n++) {
        const workspaceId = workspaceIdOf(`w${String(n).padStart(16, '0')}`)
        await file.add({ partition: '0', event: { ...makeEvent(`${n}`, { workspaceId }), position: n * 4096 } })
      }
      await file.end()
      return path
    }
    const [none, two, twenty, many] = [await write(0), await write(2), await write(20), await write(21)]
    const of = (path: string, workspace: string) => run(['replay', '--in', path, '--workspace', workspace])
    const found = await of(two, 'w0000000000000002')
    expect([found.code, found.out.match(/"position":\d+/g)], found.err).to.deep.equal([0, ['"position":8192']])
    const other = 'w00000000000000ff'
    const named = await of(two, other)
    expect([named.code, named.out]).to.deep.equal([1, ''])
    expect(named.err).to.match(/no event of w0{14}ff. It has those of: w0{15}1, w0{15}2\.\s/)
    expect((await of(twenty, other)).err).to.match(/, w0{14}20\.\s/)
    expect((await of(many, other)).err).to.match(/, w0{14}20, …\.\s/)
    expect((await of(none, other)).code, 'nothing is in it').to.equal(0)
  })

  it('is refused of a partition that a file has nothing of, and leaves no file of none', async () => {
    const [path, empty] = [join(folder, 'events'), join(folder, 'empty')]
    const file = await createEventFile(path)
    for (const partition of ['10', '2'])
      await file.add({ partition, event: { ...makeEvent(partition), position: 4096 } })
    await file.end()
    await (await createEventFile(empty)).end()
    for (const option of ['from', 'to']) {
      const out = join(folder, 'out')
      const { code, err } = await run(['replay', '--in', path, `--${option}`, '9/4096', '--out', out])
      expect([code, err.split('\n')[0]]).to.deep.equal([
        2,
        `throughline: --${option}: partition 9 is none of those meant: 2, 10`,
      ])
      expect(await readdir(folder)).to.have.members(['events', 'empty'])
    }
    expect((await run(['replay', '--in', path, '--from', '2/8192'])).code, 'only later ones are asked for').to.equal(0)
    expect((await run(['replay', '--in', empty, '--from', '9/4096'])).code, 'nothing is in it').to.equal(0)
  })

  it('begins later than asked where the log was cut, and says so', async () => {
    const said = async (...argv: readonly string[]) => {
      const services = await threeEvents()
      const [log] = await services.openLogs()
      await log?.cut(4096)
      const { code, out, err } = await run(['replay', ...argv], { services })
      return [code, [...out.matchAll(/"position":(\d+)/g)].map(([, position]) => Number(position)), err]
    }
    const detail =
      'partition 0 was cut: it begins with 0/8192, received at 2026-11-21T12:00:01.000Z; what was before is gone'
    for (const from of ['4096', '0/1', '2026-11-21T12:00:00Z'])
      expect(await said('--from', from), from).to.deep.equal([0, [8192, 12_288], `${detail}\n`])
    const json = await said('--from', '4096', '--json')
    expect(json[2]).to.equal(`${JSON.stringify({ notice: detail })}\n`)
    for (const argv of [[], ['--from', '8192'], ['--from', '2026-11-21T12:00:01Z']])
      expect((await said(...argv))[2], argv.join(' ')).to.equal('')
    const { err } = await replayed('--from', '0/1')
    expect(err, 'nothing was before').to.equal('')
  })

  it('is of a workspace of a file also where no directory can be had, and of its workspaces names no other entries', async () => {
    const path = join(folder, 'events')
    const file = await createEventFile(path)
    const [workspaceId, directory] = [workspaceIdOf('w0000000000000001'), workspaceIdOf('directory')]
    await file.add({ partition: '0', event: { ...makeEvent('1', { workspaceId }), position: 4096 } })
    await file.add({ partition: '0', event: { ...makeEvent('2', { workspaceId: directory }), position: 8192 } })
    await file.end()
    const openDirectory = () => Promise.reject(new Error('there is none'))
    const services = { ...createServices(), openDirectory }
    const of = (workspace: string) => run(['replay', '--in', path, '--workspace', workspace], { services })
    const found = await of(workspaceId)
    expect([found.code, found.out.match(/"position":\d+/g)], found.err).to.deep.equal([0, ['"position":4096']])
    expect((await of('w00000000000000ff')).err).to.match(/It has those of: w0{15}1\.\s/)
  })
})

describe('what has become of events that were replayed', () => {
  const tallied = (refused: number, leftOut: number, reason?: string) => {
    const tally = createTally()
    const add = (n: number, records: number | undefined) =>
      tally.add(
        { partition: '0', event: { ...makeEvent(`${n}`), position: n } },
        records === undefined ? undefined : { records, reason },
      )
    add(1, 0)
    for (let n = 2; n < refused + 2; n++) add(n, 3)
    for (let n = 0; n < leftOut; n++) add(n, undefined)
    return tally.done('sent')
  }

  it('is told with each of which records were refused, up to twenty, and is a failure then', () => {
    expect(tallied(0, 0).value).to.include({ text: '1 events sent.', exitCode: 0 })
    expect(tallied(1, 2).value).to.include({
      text: '2 events sent. 2 did not come from a sender and were left out.\n3 records in 1 of them were refused there:\n0/2: 3',
      exitCode: 1,
    })
    expect(tallied(20, 0, 'too large').value.text).to.match(/\n0\/21: 3, too large$/)
    expect(tallied(22, 0).value.text).to.match(/66 records in 22 of them.*\n0\/21: 3\n… and of 2 more$/s)
  })
})
