import { existsSync, readFileSync, readdirSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Directory } from './create-directory.ts'
import { randomBase62, type RandomBytes } from './keys.ts'
import { syncFolder, writeDurably } from './write-durably.ts'

const schema = z.object({
  base_url: z.string(),
  workspace: z.string(),
  sign_in: z.object({ email: z.string(), password: z.string() }),
  keys: z.object({ publishable: z.string(), logs: z.string(), tracing: z.string(), api: z.string() }),
})
/** What `first-run.json` holds: all that a newcomer needs, secrets among it. */
export type FirstRun = Readonly<z.output<typeof schema>>

type Options = Readonly<{ directory: Directory; dataFolder: string; baseUrl: string; random: RandomBytes }>

const fileName = 'first-run.json'
const passwordCharacters = 20
const isPending = (name: string): boolean => /^first-run\.[0-9a-f]+\.pending$/.test(name)

function readPending(file: string): FirstRun | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    // Cut short by a crash: its events were not written yet, because the file comes first.
    return undefined
  }
}

function publish(dataFolder: string, pending: string): void {
  renameSync(pending, join(dataFolder, fileName))
  syncFolder(dataFolder)
}

/** The files that a crash left: the one whose keys are in the directory is the first run's; the others came to nothing. */
function settlePending(directory: Directory, dataFolder: string): FirstRun | undefined {
  let settled: FirstRun | undefined
  for (const name of readdirSync(dataFolder).filter(isPending)) {
    const file = join(dataFolder, name)
    const firstRun = readPending(file)
    if (firstRun !== undefined && directory.findKey(firstRun.keys.api) !== undefined) {
      publish(dataFolder, file)
      settled = firstRun
    } else {
      unlinkSync(file)
    }
  }
  return settled
}

/**
 * On an empty directory: a workspace `default` (plan pro), its owner and one key of each kind, written to `first-run.json`
 * in the data folder (mode 0600) and given back once; undefined on every later start. The file is on disk under another
 * name before the events are, and is renamed after: whenever it stops in between, the next start finishes or begins anew,
 * and nobody ever has a server that they cannot sign in to.
 */
export async function prepareFirstRun({
  directory,
  dataFolder,
  baseUrl,
  random,
}: Options): Promise<FirstRun | undefined> {
  const settled = settlePending(directory, dataFolder)
  if (settled !== undefined || !directory.isEmpty()) return settled
  const sign_in = { email: 'owner@localhost', password: randomBase62(random, passwordCharacters) }
  const pending = join(dataFolder, `first-run.${Buffer.from(random(8)).toString('hex')}.pending`)
  const wanted = { name: 'default', plan: 'pro', ...sign_in }
  const created = await directory.createInstallation(wanted, (secrets) => {
    const firstRun: FirstRun = { base_url: baseUrl, workspace: wanted.name, sign_in, keys: secrets }
    writeDurably(pending, `${JSON.stringify(firstRun, null, 2)}\n`)
  })
  if (!created.ok) {
    if (existsSync(pending)) unlinkSync(pending)
    return undefined
  }
  publish(dataFolder, pending)
  return { base_url: baseUrl, workspace: wanted.name, sign_in, keys: created.value.secrets }
}
