import { randomBytes } from 'node:crypto'
import { connectLogs, openLog } from '#src/compose/cluster-logs.ts'
import { limits, plans, type ClusterConfig } from '#src/config.ts'
import { createDirectory, type Directory } from '#src/directory/create-directory.ts'
import type { KeyKind } from '#src/directory/directory.ts'
import { createPasswords } from '#src/directory/passwords.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { createClock } from '#src/lib/clock.ts'
import type { Result } from '#src/lib/result.ts'
import { directoryPartition } from '#streams/jetstream/subjects.ts'
import { BenchFailure, type Kind } from './bench-client.ts'

/** A plan without an allowance to run into. */
const plan = 'unlimited'
const email = 'bench@bench.example'

type Account = Readonly<{ email: string; password: string }>
type Keys = Readonly<Record<Kind, readonly string[]>>
export type Prepared = Readonly<{
  account: Account
  /** Of one workspace; several for its logs, because each key may only send so many requests a second. */
  keys: Keys
  /** One key for the logs of each of some other workspaces. */
  manyLogKeys: readonly string[]
}>

function valueOf<T>(what: string, result: Result<T, unknown>): T {
  if (!result.ok) throw new BenchFailure(`${what} was refused: ${JSON.stringify(result.error)}`)
  return result.value
}

async function makeKey(directory: Directory, workspaceId: WorkspaceId, kind: KeyKind): Promise<string> {
  return valueOf('a key', await directory.createKey({ workspaceId, kind })).secret
}

async function prepare(directory: Directory, logKeys: number, otherWorkspaces: number): Promise<Prepared> {
  const password = randomBytes(16).toString('hex')
  const workspace = valueOf('a workspace', await directory.createWorkspace({ name: 'bench', plan }))
  valueOf('a member', await directory.createUser({ email, password, workspaceId: workspace.id }))
  const traces = [await makeKey(directory, workspace.id, 'tracing')]
  const logs: string[] = []
  while (logs.length < logKeys) logs.push(await makeKey(directory, workspace.id, 'logs'))
  const manyLogKeys: string[] = []
  while (manyLogKeys.length < otherWorkspaces) {
    const name = `bench-${manyLogKeys.length}`
    const other = valueOf('a workspace', await directory.createWorkspace({ name, plan }))
    manyLogKeys.push(await makeKey(directory, other.id, 'logs'))
  }
  return { account: { email, password }, keys: { traces, logs }, manyLogKeys }
}

/** Makes the logs of a cluster, and in its directory who sends and who reads, before its processes start. */
export async function prepareDirectory(
  config: ClusterConfig,
  { logKeys, otherWorkspaces }: Readonly<{ logKeys: number; otherWorkspaces: number }>,
): Promise<Prepared> {
  const nats = await connectLogs(config, 'bench')
  const stream = await openLog(nats, config, directoryPartition)
  const directory = await createDirectory({
    stream,
    clock: createClock(),
    random: randomBytes,
    pepper: config.pepper,
    plans,
    limits,
    passwords: createPasswords({ random: randomBytes }),
    onStop: (error) => {
      throw error
    },
  })
  try {
    return await prepare(directory, logKeys, otherWorkspaces)
  } finally {
    await directory.close()
    await stream.close()
    await nats.close()
  }
}
