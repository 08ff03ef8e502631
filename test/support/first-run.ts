import { randomBytes } from 'node:crypto'
import { foldersOf } from '#src/compose/folders.ts'
import { limits, plans } from '#src/config.ts'
import { createDirectory } from '#src/directory/create-directory.ts'
import { prepareFirstRun } from '#src/directory/first-run.ts'
import { createPasswords } from '#src/directory/passwords.ts'
import { loadSecrets } from '#src/directory/secrets.ts'
import { createClock } from '#src/lib/clock.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'

/** Gives a data folder what the first run of a server makes: secrets, and a directory with a workspace. */
export async function makeFirstRun(dataFolder: string): Promise<void> {
  const secrets = loadSecrets({ dataFolder, random: randomBytes, sessionKeys: undefined })
  const stream = await createSqliteStream({ ...foldersOf(dataFolder).directory, thread: false, limits })
  const directory = await createDirectory({
    stream,
    clock: createClock(),
    random: randomBytes,
    pepper: secrets.pepper,
    plans,
    limits,
    passwords: createPasswords({ random: randomBytes }),
    onStop: () => undefined,
  })
  await prepareFirstRun({ directory, dataFolder, baseUrl: 'http://localhost', random: randomBytes })
  await directory.close()
  await stream.close()
}
