import { mkdir } from 'node:fs/promises'
import { foldersOf } from '#src/compose/folders.ts'
import { limits } from '#src/config.ts'
import { sealEvent } from '#src/events/codec.ts'
import { noCounts } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeFirstRun } from './first-run.ts'

/** Gives a new data folder a log that was begun long ago: a line of a workspace each, received so many days before now. */
export async function makeOldLog(
  dataFolder: string,
  received: readonly (readonly [workspaceId: WorkspaceId, daysAgo: number])[],
): Promise<void> {
  const { logFolder, logFile } = foldersOf(dataFolder)
  await mkdir(logFolder)
  const stream = await createSqliteStream({ file: logFile, partition: '0', thread: false, limits })
  const now = Date.now()
  for (const [workspaceId, days] of received) {
    const event = sealEvent(
      {
        id: `${workspaceId}.logs.${days}`,
        type: 'logs.received',
        schemaVersion: 1,
        workspaceId,
        keyId: 'key-1',
        receivedAt: now - days * 86_400_000,
        retentionClass: '30d',
        identified: true,
        counts: { ...noCounts, logs: 1 },
        contentType: 'application/json',
      },
      Buffer.from(JSON.stringify([{ message: `${days} days ago` }])),
    )
    await stream.append([event])
  }
  await stream.close()
  // A log without secrets and a directory would be half of an installation.
  await makeFirstRun(dataFolder)
}
