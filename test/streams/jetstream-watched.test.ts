import { expect } from 'chai'
import { limits } from '#src/config.ts'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, type JetStreamLog } from './jetstream-log.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'

describe('a JetStream log that somebody changes while it is open', function () {
  let log: JetStreamLog
  let stream: Stream

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    stream = await log.open()
  })
  afterEach(async () => {
    await stream.close()
    await log.remove()
  })

  it('is told once where its settings lose what was acknowledged, and again when they are set back', async () => {
    const told: string[] = []
    const warn = (line: string) => void told.push(line)
    const watched = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits, warn })
    const { config } = (await log.ask(`STREAM.INFO.${log.name}`)) as { config: object }
    const setTo = async (change: object): Promise<void> => {
      const { error } = await log.ask(`STREAM.UPDATE.${log.name}`, { ...config, ...change })
      expect(error).to.equal(undefined)
      await watched.head()
      await watched.head()
    }
    await setTo({ max_bytes: 512 * 1024 * 1024, description: 'ours' })
    expect(told).to.deep.equal([])
    const day = 86_400_000_000_000
    await setTo({ max_age: day })
    const changed = `stream ${log.name} was changed, and acknowledged events may be lost: `
    expect(told).to.deep.equal([`${changed}max_age is set; set it back`])
    await setTo({ max_age: day, discard: 'old', duplicate_window: 60_000_000_000 })
    const less = 'its duplicate_window is less than an hour'
    expect(told[1]).to.equal(`${changed}${less}; discard is not new; max_age is set; set it back`)
    await setTo({ max_age: day })
    await setTo({})
    const back = [
      `stream ${log.name} was changed: max_age is set`,
      `stream ${log.name} was changed: it is as it should be`,
    ]
    expect(told.slice(2)).to.deep.equal(back)
    await setTo({ subject_transform: { src: '>', dest: 'elsewhere.>' } })
    expect(told[4]).to.equal(`${changed}what it stores by its subject_transform cannot be read; set it back`)
    await watched.close()
  })

  it('is told once when somebody takes its beginning, and not for a cut or an erasure', async () => {
    const told: string[] = []
    const warn = (line: string) => void told.push(line)
    const watched = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits, warn })
    const look = async (): Promise<readonly string[]> => {
      for (let times = 0; times < 3; times++) await watched.head()
      return told.splice(0)
    }
    const taken = (upTo: number) =>
      `stream ${log.name} has lost its beginning, up to message ${upTo}, and no retention dropped that: somebody has purged the stream, its ` +
      'files are damaged, or its disk was full when a large request came: put it back from a backup of NATS; or, to go on without what is missing, ' +
      'start project with ALLOW_LOST_LOG=1'
    await stream.append(makeEvents(3))
    await stream.cut(2 * 4096)
    expect(await look()).to.deep.equal([])
    const erasure = sealErasure(workspaceIdOf('acme'), { at: Date.now(), unique: '0'.repeat(32) })
    const { last } = await stream.append([erasure])
    await stream.erase(workspaceIdOf('acme'), last)
    expect((await stream.first())?.position).to.equal(4 * 4096)
    expect(await look()).to.deep.equal([])
    await stream.append([makeEvent('a'), makeEvent('b'), makeEvent('c')])
    await log.ask(`STREAM.PURGE.${log.name}`, { seq: 6 })
    expect(await look()).to.deep.equal([taken(5)])
    expect(await look()).to.deep.equal([])
    await watched.close()
  })

  it('says nothing of a beginning that was missing when it was opened, and tells of what goes later', async () => {
    const told: string[] = []
    const warn = (line: string) => void told.push(line)
    await stream.append(makeEvents(4))
    await log.ask(`STREAM.PURGE.${log.name}`, { seq: 3 })
    const watched = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits, warn })
    await watched.head()
    await watched.head()
    expect(told).to.deep.equal([])
    await log.ask(`STREAM.PURGE.${log.name}`, { seq: 4 })
    await watched.head()
    await watched.head()
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/has lost its beginning, up to message 3,/)
    await watched.close()
  })

  it('notes again where it was cut off when somebody puts an earlier configuration back, for whoever opens it next', async () => {
    const told: string[] = []
    const warn = (line: string) => void told.push(line)
    const watched = await openJetStream(log.nats, { partition: '0', prefix: log.prefix, limits, warn })
    const { config } = (await log.ask(`STREAM.INFO.${log.name}`)) as { config: object }
    await watched.append(makeEvents(4))
    await watched.cut(2 * 4096)
    await watched.head()
    await log.ask(`STREAM.UPDATE.${log.name}`, config)
    for (let times = 0; times < 3; times++) await watched.head()
    expect(told).to.deep.equal([])
    const next = await log.open()
    expect(await next.read(0, 10)).to.have.length(2)
    await next.close()
    await watched.close()
  })
})
