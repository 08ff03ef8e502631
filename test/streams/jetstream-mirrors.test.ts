import { expect } from 'chai'
import { sealErasure } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, type JetStreamLog } from './jetstream-log.ts'
import { makeEvent, makeEvents, noon } from '../support/make-event.ts'
import { idsOf } from '../support/read-all.ts'

/** So many reads that one of them went to the mirror: the server chooses one of two for each. */
const reads = 40

describe('a JetStream log of which somebody makes a mirror', function () {
  let log: JetStreamLog
  let stream: Stream
  let mirror: string
  let root: string

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    stream = await log.open()
    mirror = `${log.prefix}-MIRROR`
    root = `${log.prefix}-telemetry.0.${stream.epoch}`
  })
  afterEach(async () => {
    await log.ask(`STREAM.DELETE.${mirror}`)
    await stream.close()
    await log.remove()
  })

  /** The server has a mirror answer for its stream unless that is forbidden. Resolves when it has the last message. */
  async function makeMirror(of: object, settings: object): Promise<void> {
    const created = await log.ask(`STREAM.CREATE.${mirror}`, {
      name: mirror,
      mirror: { name: log.name, ...of },
      ...settings,
    })
    expect(created).to.not.have.property('error')
    const { config } = created as { config: { mirror_direct?: boolean } }
    expect(config.mirror_direct).to.equal(true)
    for (let last = 0; last < 7;) {
      const { state } = (await log.ask(`STREAM.INFO.${mirror}`)) as { state: { last_seq: number } }
      last = state.last_seq
    }
  }

  const kinds: Readonly<Record<string, () => readonly [object, object]>> = {
    'begins later': () => [{ opt_start_seq: 4 }, {}],
    'keeps less': () => [{}, { max_msgs: 3 }],
    'leaves subjects out': () => [{ filter_subject: `${root}.acme.>` }, {}],
    'has other subjects': () => [{ subject_transforms: [{ src: `${root}.>`, dest: `copy.${root}.>` }] }, {}],
  }
  for (const [what, make] of Object.entries(kinds))
    it(`is read whole, from wherever one begins, when the mirror ${what}`, async () => {
      const [globex, gone] = [workspaceIdOf('globex'), workspaceIdOf('gone')]
      await stream.append([...makeEvents(2), makeEvent('theirs', { workspaceId: globex })])
      await stream.append([makeEvent('fourth'), makeEvent('fifth', { workspaceId: globex })])
      // Up to an erasure, what is missing counts as erased.
      await stream.append([sealErasure(gone, { at: noon, unique: 'erasure' })])
      const { last } = await stream.append([makeEvent('last')])
      const all = idsOf(await stream.read(0, 10))
      expect(all).to.have.length(7)
      await makeMirror(...make())
      for (let time = 0; time < reads; time++) {
        expect(idsOf(await stream.read(0, 10))).to.deep.equal(all)
        expect(idsOf(await stream.read(2 * 4096, 10))).to.deep.equal(all.slice(2))
        expect(await stream.read(last, 10)).to.deep.equal([])
        expect((await stream.first())?.position).to.equal(4096)
      }
    })
})
