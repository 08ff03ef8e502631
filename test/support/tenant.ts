import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { limitsBeside } from '#src/compose/log-beside.ts'
import { limits, plans } from '#src/config.ts'
import { createDirectory, type Directory } from '#src/directory/create-directory.ts'
import type { KeyKind, MemberRole } from '#src/directory/directory.ts'
import { createPasswords } from '#src/directory/passwords.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { createClock } from '#src/lib/clock.ts'
import type { Result } from '#src/lib/result.ts'
import { connectNats } from '#streams/jetstream/connect.ts'
import { openJetStream } from '#streams/jetstream/stream.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { clusterAt } from './clusters.ts'
import type { FirstRun, Server } from './server.ts'

export type Tenant = Readonly<{ workspace: string; sign_in: FirstRun['sign_in']; keys: FirstRun['keys'] }>

type Log = Readonly<{ stream: Stream; pepper: string; disconnect: () => Promise<void> }>

/** The log of workspaces, beside a running server, as the command line opens it. */
async function openDirectoryLog(dataFolder: string): Promise<Log> {
  const cluster = clusterAt(dataFolder)
  if (cluster === undefined) {
    const { pepper } = loadSecrets({ dataFolder, random: randomBytes })
    const options = { file: join(dataFolder, 'directory.db'), partition: 'directory', thread: false }
    const stream = await createSqliteStream({ ...options, limits: limitsBeside })
    return { stream, pepper, disconnect: async () => undefined }
  }
  const { natsUrl, indexPrefix: prefix, pepper } = cluster.config
  const nats = await connectNats({ url: natsUrl })
  const stream = await openJetStream(nats, { partition: directoryPartition, prefix, limits })
  return { stream, pepper, disconnect: () => nats.close() }
}

async function withDirectory<T>(dataFolder: string, use: (directory: Directory) => Promise<T>): Promise<T> {
  const { stream, pepper, disconnect } = await openDirectoryLog(dataFolder)
  const directory = await createDirectory({
    stream,
    clock: createClock(),
    random: randomBytes,
    pepper,
    plans,
    limits,
    // A stored hash says what it costs: signing in with one of these takes 2 ms instead of 90.
    passwords: createPasswords({ random: randomBytes, cost: 10 }),
    onStop: () => undefined,
  })
  try {
    return await use(directory)
  } finally {
    await directory.close()
    await stream.close()
    await disconnect()
  }
}

function done<T>(result: Result<T, Readonly<{ detail: string }>>): T {
  if (result.ok) return result.value
  throw new Error(result.error.detail)
}

type TenantOptions = Readonly<{ role?: MemberRole; keyName?: string }>

/** A further workspace of an installation, with a member and a key of each kind. What the command line makes too, without its processes. */
export const createTenant = (
  { dataFolder }: Pick<Server, 'dataFolder'>,
  name: string,
  plan: string,
  { role = 'member', keyName = '' }: TenantOptions = {},
): Promise<Tenant> =>
  withDirectory(dataFolder, async (directory) => {
    const { id: workspaceId } = done(await directory.createWorkspace({ name, plan }))
    const sign_in = { email: `${role}@${name}.example`, password: randomBytes(12).toString('hex') }
    done(await directory.createUser({ ...sign_in, workspaceId, role }))
    const key = async (kind: KeyKind): Promise<string> =>
      done(await directory.createKey({ workspaceId, kind, name: keyName, origins: [] })).secret
    const keys = {
      publishable: await key('publishable'),
      logs: await key('logs'),
      tracing: await key('tracing'),
      api: await key('api'),
    }
    return { workspace: workspaceId, sign_in, keys }
  })
