import { expect } from 'chai'
import { TransientError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs, natsEngine } from '#test/support/engines.ts'
import { makeJetStreamLog, type JetStreamLog } from './jetstream-log.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'
import { readAll, rejection } from '../support/read-all.ts'

type Snapshot = Readonly<{ config: object; state: object }>

/** Makes the stream anew from a backup of itself whose configuration was changed, as `nats stream backup` and `restore` do. */
async function restoreWith({ nats, name, ask }: JetStreamLog, change: object): Promise<void> {
  const inbox = `_INBOX.${name}`
  const chunks: Uint8Array[] = []
  const ended = Promise.withResolvers<undefined>()
  const unsubscribe = await nats.subscribe(inbox, ({ data }) => {
    if (data.length === 0) ended.resolve(undefined)
    else chunks.push(Buffer.from(data))
  })
  const taken = (await ask(`STREAM.SNAPSHOT.${name}`, { deliver_subject: inbox })) as unknown as Snapshot
  await ended.promise
  unsubscribe()
  await ask(`STREAM.DELETE.${name}`)
  const { config, state } = taken
  const restoring = await ask(`STREAM.RESTORE.${name}`, { config: { ...config, ...change }, state })
  for (const chunk of [...chunks, '']) await nats.request(String(restoring['deliver_subject']), chunk)
}

describe('a JetStream log in which somebody forbids what it needs', function () {
  let log: JetStreamLog
  let stream: Stream
  let config: object

  before(async function () {
    this.timeout(enginesTimeoutMs)
    await natsEngine()
  })
  beforeEach(async () => {
    log = await makeJetStreamLog()
    stream = await log.open()
    ;({ config } = (await log.ask(`STREAM.INFO.${log.name}`)) as { config: object })
    await stream.append(makeEvents(3))
  })
  afterEach(async () => {
    await stream.close()
    await log.remove()
  })

  const both = [makeEvent('one'), makeEvent('two')]
  const allowed: Readonly<Record<string, () => Promise<unknown>>> = {
    allow_direct: () => stream.read(0, 10),
    allow_atomic: () => stream.append(both),
  }
  for (const [setting, task] of Object.entries(allowed))
    it(`names the setting, and goes on when it is set back: ${setting}`, async () => {
      await log.ask(`STREAM.UPDATE.${log.name}`, { ...config, [setting]: false })
      const failure = await rejection(task())
      expect(failure).to.be.instanceOf(TransientError)
      expect(failure.message).to.match(new RegExp(`\\(somebody has taken its ${setting} away: set it to true\\)`))
      await log.ask(`STREAM.UPDATE.${log.name}`, config)
      await task()
    })

  const forGood: Readonly<Record<string, readonly [RegExp, () => Promise<unknown>]>> = {
    deny_purge: [/somebody has set its deny_purge, /, () => stream.cut(4096)],
    sealed: [/somebody has sealed it, /, () => stream.append([makeEvent('more')])],
  }
  for (const [setting, [said, task]] of Object.entries(forGood))
    it(`says how to get rid of what the server does not take back, and goes on after that: ${setting}`, async () => {
      await log.ask(`STREAM.UPDATE.${log.name}`, { ...config, [setting]: true })
      const refused = await log.ask(`STREAM.UPDATE.${log.name}`, config)
      expect(refused).to.have.property('error')
      const failure = await rejection(task())
      expect(failure).to.be.instanceOf(TransientError)
      expect(failure.message)
        .to.match(said)
        .and.to.match(/set sealed and deny_purge to false in its backup\.json/)
      await restoreWith(log, { sealed: false, deny_purge: false })
      await task()
      expect(await readAll(stream)).to.have.length(setting === 'sealed' ? 4 : 2)
    })
})
