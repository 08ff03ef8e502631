import { expect } from 'chai'
import { after, before, describe, it } from 'mocha'
import { limits } from '#src/config.ts'
import { sealLoss } from '#src/events/erasure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { TransientError } from '#src/lib/failure.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import type { Nats } from '#streams/jetstream/nats.ts'
import { provisionLogs } from '#streams/jetstream/provision.ts'
import { MissingError } from '#streams/jetstream/stored.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { enginesTimeoutMs } from '#test/support/engines.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'
import { idsOf, rejection } from '../support/read-all.ts'
import { askServer, testProvision } from './jetstream-log.ts'
import { startPlainNats } from './plain-nats.ts'

const prefix = 'rights'
/** What each user may not publish to. */
const forbidden = {
  appends: `${prefix}-telemetry.>`,
  copies: '$JS.API.DIRECT.GET.>',
  leader: '$JS.API.STREAM.MSG.GET.>',
  settings: '$JS.API.STREAM.UPDATE.>',
}
const userWith = (name: string, permissions: string): string =>
  `{user: ${name}, password: x, permissions: {${permissions}}}`
const users = [
  '{user: all, password: x}',
  ...Object.entries(forbidden).map(([name, deny]) => userWith(name, `publish: {allow: ">", deny: "${deny}"}`)),
  userWith('deaf', 'publish: ">", subscribe: {deny: "stored.>"}'),
  userWith('mute', 'publish: ">", subscribe: {allow: "stored.>"}'),
]

describe('a user of NATS who lacks a right', function () {
  this.timeout(enginesTimeoutMs)
  let server: Awaited<ReturnType<typeof startPlainNats>>
  const opened: { close(): Promise<void> }[] = []
  const warned: string[] = []
  let own: Stream

  async function connectedAs(user: string): Promise<Nats> {
    const url = new URL(server.url)
    ;[url.username, url.password] = [user, 'x']
    const nats = await connectNats({ url: url.href })
    opened.unshift(nats)
    return nats
  }
  async function openedAs(user: string): Promise<Stream> {
    const warn = (line: string): void => void warned.push(line)
    const stream = await openJetStream(await connectedAs(user), { partition: '0', prefix, limits, warn })
    opened.unshift(stream)
    return stream
  }
  before(async () => {
    server = await startPlainNats(
      `jetstream { store_dir: "$FOLDER/jetstream", sync_interval: always }\nauthorization { users: [ ${users.join(', ')} ] }`,
    )
    await provisionLogs(await connectedAs('all'), { ...testProvision, prefix })
    own = await openedAs('all')
    await own.append(makeEvents(3))
  })
  after(async () => {
    for (const each of opened) await each.close()
    await server.remove()
  })

  /** Where the server takes answers to, for one user: all but `requestMany` share one. */
  async function waitedFor(user: string): Promise<readonly string[]> {
    const answer = await fetch(`${server.monitoring}/connz?auth=1&subs=1`)
    const { connections } = (await answer.json()) as {
      connections: readonly { authorized_user: string; subscriptions_list?: readonly string[] }[]
    }
    const own = connections.filter(({ authorized_user: name }) => name === user)
    return own.flatMap(({ subscriptions_list: list = [] }) => list).filter((subject) => subject.startsWith('_INBOX.'))
  }

  const expectNamed = async (task: Promise<unknown>, subject: string): Promise<void> => {
    const failure = await rejection(task)
    expect(failure).to.be.instanceOf(TransientError)
    expect(`${failure.message} ${String(failure.cause)}`)
      .to.contain(subject)
      .and.to.match(/the user of NATS_URL lacks a right: let it publish and subscribe to all subjects of its account/)
  }

  it('is told which one, if it may not append, or not look for an id', async () => {
    await expectNamed((await openedAs('appends')).append([makeEvent('one')]), `${prefix}-telemetry.0.`)
    await expectNamed((await openedAs('leader')).last('a subject'), '$JS.API.STREAM.MSG.GET.')
  })

  it('reads from the leader where it may not ask the copies, which is told once', async () => {
    const stream = await openedAs('copies')
    const all = idsOf(await own.read(0, 10))
    for (let times = 0; times < 2; times++) expect(idsOf(await stream.read(0, 10))).to.deep.equal(all)
    // The server is told that nobody waits for those answers: else it would keep each of them in mind.
    expect(await waitedFor('copies')).to.have.length(1)
    expect(warned).to.have.length(1)
    expect(warned[0])
      .to.match(/is read message by message, which is slow: ask \$JS\.API\.DIRECT\.GET\./)
      .and.to.match(/lacks a right/)
  })

  it('reads on where the note of a cut was taken away and it may not note that again', async () => {
    const { last } = await own.append(makeEvents(3))
    const stream = await openedAs('settings')
    const all = await connectedAs('all')
    const name = `${prefix}-TELEMETRY_0`
    const { config } = (await askServer(all, `STREAM.INFO.${name}`)) as { config: object }
    await own.cut(4096)
    expect(await stream.head()).to.equal(last)
    await askServer(all, `STREAM.UPDATE.${name}`, config)
    expect(await stream.head()).to.equal(last)
    expect(await own.head()).to.equal(last)
  })

  it('is told at once that it may not hear answers, or what is announced', async () => {
    const mute = await connectedAs('mute')
    await expectNamed(mute.request('$JS.API.INFO', ''), '_INBOX.')
    const late = (): void => expect.fail('it waited for an answer')
    await expectNamed(
      mute.requestMany(`$JS.API.DIRECT.GET.${prefix}-TELEMETRY_0`, '{"seq":1,"batch":1}', late),
      '_INBOX.',
    )
    const deaf = await connectedAs('deaf')
    await expectNamed(
      deaf.subscribe('stored.>', () => expect.fail('it heard something')),
      'stored.>',
    )
  })

  it('is told what is missing where it may not ask the copies, and there is only one', async () => {
    const stream = await openedAs('copies')
    const head = await stream.head()
    const gone = workspaceIdOf('gone')
    await own.append([makeEvent('gone', { workspaceId: gone })])
    const filter = `${prefix}-telemetry.0.${own.epoch}.${gone}.>`
    await askServer(await connectedAs('all'), `STREAM.PURGE.${prefix}-TELEMETRY_0`, { filter })
    await own.append([makeEvent('behind')])
    expect(await rejection(stream.read(head, 10))).to.be.instanceOf(MissingError)
    await own.append([sealLoss({ at: Date.now(), unique: '0'.repeat(32) })])
    expect(idsOf(await stream.read(head, 1))).to.deep.equal(['acme.traces.behind'])
  })
})
