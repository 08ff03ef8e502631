import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { listOf } from './client.ts'
import { clusterAt } from './clusters.ts'
import { runProgram } from './run-program.ts'
import type { Server } from './server.ts'

/** Runs a verb of the command line on the server's installation, beside the running server; its `--json` answer. */
export async function cli(server: Pick<Server, 'dataFolder'>, ...args: readonly string[]): Promise<JsonObject> {
  const environment = clusterAt(server.dataFolder)?.environment ?? {}
  const argv = ['src/main.ts', ...args, '--json', '--data', server.dataFolder]
  const lines = await runProgram(process.execPath, argv, { environment })
  return parseJson(lines.join('\n')) as JsonObject
}

/** The id of the workspace that the first run has made: `firstRun` says its name. */
export async function firstWorkspaceOf(server: Pick<Server, 'dataFolder'>): Promise<WorkspaceId> {
  const [workspace] = listOf(await cli(server, 'workspace', 'list'), 'workspaces')
  return workspaceIdOf(String(workspace?.['id']))
}

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
