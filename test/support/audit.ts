import { expect } from 'chai'
import { readUsageAt } from '#projections/allowance/query.ts'
import { isStored } from '#projections/traces/span-document.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { parseJson, type JsonObject } from '#src/lib/json.ts'
import { cli } from './cli.ts'
import { at, listOf, signIn, untilIndexed, type Reader } from './client.ts'
import { openInstallation } from './installation.ts'
import type { Server } from './server.ts'
import { hex, otlpJson } from './telemetry.ts'

export const otlpPath = '/api/traces/v1/otlp'
export const logsPath = '/api/logs/v1/ingest'
export const auditedService = 'audited'

/** A log record that can be found again by its name. */
export const auditedLog = (name: string): string => JSON.stringify({ message: name, service: auditedService })

export const auditedTrace = (name: string): string => hex(32, name)

/** A request of spans that are one trace, found again by its name. */
export const auditedSpans = (name: string, spans: number): string =>
  otlpJson(
    Array.from({ length: spans }, (_, index) => ({
      traceId: auditedTrace(name),
      spanId: hex(16, name, index),
      service: auditedService,
    })),
  )

/** How many of the spans that were sent the answer says are stored. */
export function acceptedSpans(body: string, sent: number): number {
  const rejected = at(parseJson(body), 'partialSuccess', 'rejectedSpans')
  return sent - Number(rejected ?? 0)
}

/** What senders were told is stored: names of logs, and the number of spans of each trace. */
export type Told = Readonly<{ logs: Set<string>; spans: Map<string, number> }>

async function findAll(reader: Reader, search: string, list: string): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: JsonObject = (await reader.get(`${search}&service=${auditedService}&cursor=${cursor}`)).body
    found.push(...listOf(page, list))
    cursor = page['next_cursor'] as string | null
  }
  return found
}

/** Spans of a workspace in this month: as they count against the allowance, and as they are found. */
export async function spansOf(
  { dataFolder }: Pick<Server, 'dataFolder'>,
  workspace: string,
): Promise<Readonly<{ counted: number; found: number }>> {
  const { indexOf, close } = await openInstallation({ dataFolder })
  const workspaceId = workspaceIdOf(workspace)
  const index = indexOf(workspaceId)
  const { spans } = await readUsageAt(index, workspaceId, Date.now())
  const scope = { workspaceId, projection: 'traces', collection: 'spans' }
  const found = await index.count(scope, { filter: isStored })
  await close()
  return { counted: spans, found }
}

export type Audited = Pick<Server, 'baseUrl' | 'dataFolder' | 'firstRun' | 'output'>

/** Fails unless what senders were told of is found, once, and nothing else is, and the count against the allowance is theirs. */
export async function expectFound(server: Audited, { logs, spans }: Told): Promise<void> {
  await untilIndexed(server)
  const reader = await signIn(server.baseUrl, server.firstRun.sign_in)
  const messages = await findAll(reader, '/api/app/logs/search?limit=1000', 'logs')
  const names = messages.map((log) => String(log['message']))
  expect(names.length, 'log records found').to.equal(new Set(names).size)
  expect(new Set(names)).to.deep.equal(logs)
  const traces = await findAll(reader, '/api/app/traces/search?limit=200', 'traces')
  const counts = traces.map((trace) => [String(trace['trace_id']), Number(trace['span_count'])] as const)
  const stored = [...spans].filter(([, count]) => count > 0)
  expect(Object.fromEntries(counts)).to.deep.equal(Object.fromEntries(stored))
  const [workspace] = listOf(await cli(server, 'workspace', 'list'), 'workspaces')
  const total = stored.reduce((sum, [, count]) => sum + count, 0)
  expect(await spansOf(server, String(workspace?.['id']))).to.deep.equal({ counted: total, found: total })
}
