import { mkdir } from 'node:fs/promises'
import { foldersOf } from '#src/compose/folders.ts'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { stringifyJson, type JsonObject } from '#src/lib/json.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeFirstRun } from './first-run.ts'

type Received = Readonly<{ workspaceId: WorkspaceId; daysAgo: number }> &
  Readonly<{ records: readonly JsonObject[] } | { rum: JsonObject }>

/** What was sent: log records, or a body of browser events. */
const sentIn = (received: Received) =>
  'rum' in received
    ? ({ type: 'rum.received', counts: { ...noCounts, rumEvents: 1 }, body: received.rum } as const)
    : ({
        type: 'logs.received',
        counts: { ...noCounts, logs: received.records.length },
        body: received.records,
      } as const)

/** Appends requests to the log of a data folder that nobody has open, as they were received so many days before now. */
export async function appendOldLogs(dataFolder: string, received: readonly Received[]): Promise<void> {
  const stream = await createSqliteStream({ ...foldersOf(dataFolder).log, thread: false, limits })
  const now = Date.now()
  for (const each of received) {
    const { workspaceId, daysAgo } = each
    const { type, counts, body } = sentIn(each)
    const event = sealEvent(
      {
        id: `${workspaceId}.logs.${daysAgo}`,
        type,
        schemaVersion: 1,
        workspaceId,
        keyId: 'key-1',
        receivedAt: now - daysAgo * 86_400_000,
        retentionClass: '30d',
        identified: true,
        counts,
        contentType: 'application/json',
      },
      Buffer.from(stringifyJson(body)),
    )
    await stream.append([event])
  }
  await stream.close()
}

/** Gives a new data folder a log that was begun long ago: a line of a workspace each, received so many days before now. */
export async function makeOldLog(
  dataFolder: string,
  received: readonly (readonly [workspaceId: WorkspaceId, daysAgo: number])[],
): Promise<void> {
  await mkdir(foldersOf(dataFolder).logFolder)
  const lines = received.map(([workspaceId, daysAgo]) => {
    return { workspaceId, daysAgo, records: [{ message: `${daysAgo} days ago` }] }
  })
  await appendOldLogs(dataFolder, lines)
  // A log without secrets and a directory would be half of an installation.
  await makeFirstRun(dataFolder)
}
