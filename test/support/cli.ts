import type { JsonObject } from '#src/lib/json.ts'
import { parseJson } from '#src/lib/json.ts'
import { clusterAt } from './clusters.ts'
import { runProgram } from './run-program.ts'
import type { FirstRun, Server } from './server.ts'

/** Runs a verb of the command line on the server's installation, beside the running server; its `--json` answer. */
export async function cli(server: Pick<Server, 'dataFolder'>, ...args: readonly string[]): Promise<JsonObject> {
  const environment = clusterAt(server.dataFolder)?.environment ?? {}
  const argv = ['src/main.ts', ...args, '--json', '--data', server.dataFolder]
  const lines = await runProgram(process.execPath, argv, { environment })
  return parseJson(lines.join('\n')) as JsonObject
}

export type Tenant = Readonly<{ workspace: string; sign_in: FirstRun['sign_in']; keys: FirstRun['keys'] }>

/** A further workspace with one key, for its spans. */
export async function createSpanWorkspace(
  server: Pick<Server, 'dataFolder'>,
  name: string,
  plan: string,
): Promise<Readonly<{ workspace: string; key: string }>> {
  const { id } = (await cli(server, 'workspace', 'create', name, '--plan', plan)) as { id: string }
  const { secret } = (await cli(server, 'key', 'create', '--workspace', id, '--kind', 'tracing')) as { secret: string }
  return { workspace: id, key: secret }
}

/** A further workspace with a member and a key of each kind, made as an operator makes them. */
export async function createTenant(server: Pick<Server, 'dataFolder'>, name: string, plan: string): Promise<Tenant> {
  const { id } = (await cli(server, 'workspace', 'create', name, '--plan', plan)) as { id: string }
  const email = `member@${name}.example`
  const { password } = (await cli(server, 'user', 'create', email, '--workspace', id)) as { password: string }
  const key = async (kind: string): Promise<string> =>
    ((await cli(server, 'key', 'create', '--workspace', id, '--kind', kind)) as { secret: string }).secret
  return {
    workspace: id,
    sign_in: { email, password },
    keys: {
      publishable: await key('publishable'),
      logs: await key('logs'),
      tracing: await key('tracing'),
      api: await key('api'),
    },
  }
}
