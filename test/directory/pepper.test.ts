import { expect } from 'chai'
import { decodeDirectoryEvent, sealDirectoryEvent, type DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'
import { createWorkspace, newStream, openDirectory, valueOf } from './harness.ts'

const other = 'another pepper that is long enough as well'

type KeyCreated = Extract<DirectoryEvent, { type: 'directory.key.created' }>

/** An installation with one key. */
async function withKey(stream: Stream) {
  const { directory } = await openDirectory({ stream })
  const { id } = await createWorkspace(directory, 'acme')
  const { secret } = valueOf(await directory.createKey({ workspaceId: id, kind: 'logs' }))
  return { directory, workspaceId: id, secret }
}
async function keyEvents(stream: Stream): Promise<readonly KeyCreated[]> {
  const events = (await stream.read(beforeAll, 100)).map(decodeDirectoryEvent)
  return events.filter((event) => event.type === 'directory.key.created')
}

describe('the pepper of an installation', () => {
  it('is told from another in one line, before anybody is served', async () => {
    const stream = newStream()
    const { directory } = await withKey(stream)
    const opened = await openDirectory({ stream, pepper: other }).catch((error: unknown) => error)
    expect(opened).to.be.instanceOf(PermanentError)
    expect((opened as Error).message).to.match(
      /^open directory: check KEY_PEPPER .*start every process with that one\)$/,
    )
    await (await openDirectory({ stream })).directory.close()
    await directory.close()
  })

  it('ends a process that began with another one before there was a key', async () => {
    const stream = newStream()
    const early = await openDirectory({ stream, pepper: other })
    const { directory } = await withKey(stream)
    await early.directory.followed(await stream.head(), 60_000)
    expect(early.stops.map(({ message }) => message)).to.have.length(1)
    expect(early.stops[0]?.message).to.match(/^check KEY_PEPPER/)
    await directory.close()
  })

  it('is the first key’s, whatever another process has made since', async () => {
    const stream = newStream()
    const { directory, workspaceId, secret } = await withKey(stream)
    const [first] = await keyEvents(stream)
    const later = { ...(first as KeyCreated), keyId: 'k-later', hash: 'of another pepper', pepper: '0123456789abcdef' }
    const { last } = await stream.append([sealDirectoryEvent(later, Date.now(), 'f'.repeat(32))])
    expect(await directory.followed(last, 60_000)).to.equal(true)
    const { directory: next } = await openDirectory({ stream })
    expect(next.findKey(secret)?.workspaceId).to.equal(workspaceId)
    await Promise.all([directory.close(), next.close()])
  })

  it('is not asked of keys from before it was written down', async () => {
    const stream = newStream()
    const { directory } = await withKey(stream)
    await directory.close()
    const events = (await stream.read(beforeAll, 100)).map(decodeDirectoryEvent)
    const old = newStream()
    for (const [index, event] of events.entries()) {
      const { pepper: _, ...unmarked } = event as KeyCreated
      await old.append([sealDirectoryEvent(unmarked, Date.now(), String(index).padStart(32, '0'))])
    }
    const opened = await openDirectory({ stream: old, pepper: other })
    expect(opened.directory.workspaces()).to.have.length(1)
    await opened.directory.close()
  })
})
