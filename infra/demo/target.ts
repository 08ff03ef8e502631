import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { DemoError } from './demo-error.ts'

/** Where the shop's telemetry goes, and by which keys. */
export type Target = Readonly<{ baseUrl: string; tracesToken: string; logsToken: string; rumKey: string }>

const firstRun = z.object({
  base_url: z.string(),
  keys: z.object({ publishable: z.string(), logs: z.string(), tracing: z.string() }),
})

function readFirstRun(dataFolder: string): z.output<typeof firstRun> {
  const file = join(dataFolder, 'first-run.json')
  try {
    return firstRun.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    throw new DemoError(
      `There is no ${file}, which the first "npm start" writes. Start the server, or name its folder (--data) or its address and keys (BASE_URL, TRACES_TOKEN, LOGS_TOKEN, RUM_KEY).`,
    )
  }
}

const withoutSlash = (url: string): string => url.replace(/\/$/, '')

/**
 * The server of the folder that `--data` names, whatever variables of another server the shell has loaded. Without it: the variables that `npx
 * throughline env` prints, where they are set; the rest from the data folder of the first run.
 */
export function readTarget(env: NodeJS.ProcessEnv, dataFolder: string | undefined): Target {
  const {
    BASE_URL: baseUrl,
    TRACES_TOKEN: tracesToken,
    LOGS_TOKEN: logsToken,
    RUM_KEY: rumKey,
  } = dataFolder === undefined ? env : {}
  if (baseUrl && tracesToken && logsToken && rumKey) {
    return { baseUrl: withoutSlash(baseUrl), tracesToken, logsToken, rumKey }
  }
  const { base_url, keys } = readFirstRun(dataFolder ?? (env['THROUGHLINE_DATA'] || 'data'))
  return {
    baseUrl: withoutSlash(baseUrl || base_url),
    tracesToken: tracesToken || keys.tracing,
    logsToken: logsToken || keys.logs,
    rumKey: rumKey || keys.publishable,
  }
}

async function expectAccepted(url: string, key: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body }).catch((error: unknown) => {
    const { cause } = error as { cause?: Error }
    throw new DemoError(`There is no server at ${url} (${cause?.message ?? String(error)}). Start it with "npm start".`)
  })
  const answer = await response.text()
  if (!response.ok) throw new DemoError(`${url} answers ${response.status}: ${answer}`)
}

/** Sends an empty batch to each ingest: a wrong address or key is told at once, and nothing is stored. */
export async function checkTarget({ baseUrl, tracesToken, logsToken, rumKey }: Target): Promise<void> {
  await expectAccepted(`${baseUrl}/api/traces/v1/otlp`, tracesToken, '{}')
  await expectAccepted(`${baseUrl}/api/logs/v1/ingest`, logsToken, '[]')
  await expectAccepted(`${baseUrl}/api/rum/v1/ingest`, rumKey, '{"events":[]}')
}
