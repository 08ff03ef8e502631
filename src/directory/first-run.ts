import { readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { syncFolder, writeDurably } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Directory } from './create-directory.ts'
import { randomBase62, type RandomBytes } from './keys.ts'

const schema = z.object({
  base_url: z.string(),
  workspace: z.string(),
  sign_in: z.object({ email: z.string(), password: z.string() }),
  keys: z.object({ publishable: z.string(), logs: z.string(), tracing: z.string(), api: z.string() }),
})
/** The content of `first-run.json`: everything a newcomer needs, including secrets. */
export type FirstRun = Readonly<z.output<typeof schema>>

type Options = Readonly<{ directory: Directory; dataFolder: string; baseUrl: string; random: RandomBytes }>

export const firstRunFile = 'first-run.json'
const passwordCharacters = 20
const isPending = (name: string): boolean => /^first-run\.[0-9a-f]+\.pending$/.test(name)

/**
 * What the first run of this data folder created; undefined if there is none, or somebody removed the file. Throws PermanentError if it
 * cannot be read.
 */
export const readFirstRun = (dataFolder: string): FirstRun | undefined => readFile(join(dataFolder, firstRunFile))

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    const hint = 'it must be readable: run this as the user that the server runs as'
    throw new PermanentError({ operation: 'read', subject: file, hint, cause })
  }
}

function readFile(file: string): FirstRun | undefined {
  const text = textOf(file)
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    // Missing, or cut short by a crash. Then its events were not written either, because the file comes first.
    return undefined
  }
}

/** False if another process that started at the same time was first. */
function publish(dataFolder: string, pending: string): boolean {
  try {
    renameSync(pending, join(dataFolder, firstRunFile))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return false
  }
  syncFolder(dataFolder)
  return true
}

/** Cleans up files left by a crash: the one whose keys are in the directory belongs to the first run, the others came to nothing. */
function settlePending(directory: Directory, dataFolder: string): FirstRun | undefined {
  let settled: FirstRun | undefined
  for (const name of readdirSync(dataFolder).filter(isPending)) {
    const file = join(dataFolder, name)
    const firstRun = readFile(file)
    if (firstRun !== undefined && directory.findKey(firstRun.keys.api) !== undefined) {
      if (publish(dataFolder, file)) settled = firstRun
    } else if (!directory.isEmpty()) {
      // While the directory is empty, the file may belong to another process that is about to append. Now none can.
      rmSync(file, { force: true })
    }
  }
  return settled
}

/**
 * On an empty directory, creates a workspace `default` (plan pro), its owner and one key of each kind. They are written to `first-run.json`
 * in the data folder (mode 0600) and returned once; undefined on every later start. The file is written under another name before the
 * events and renamed after them. If the process stops in between, the next start finishes or starts again, so nobody gets a server they
 * cannot sign in to.
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
    rmSync(pending, { force: true })
    return undefined
  }
  publish(dataFolder, pending)
  settlePending(directory, dataFolder)
  return { base_url: baseUrl, workspace: wanted.name, sign_in, keys: created.value.secrets }
}

const hex = (random: RandomBytes, bytes: number): string => Buffer.from(random(bytes)).toString('hex')

/** One span as OTLP JSON (opentelemetry-proto, JSON mapping), 120 ms long, ending at `now` (ms). */
function firstSpan(now: number, random: RandomBytes): string {
  const span = {
    traceId: hex(random, 16),
    spanId: hex(random, 8),
    name: 'hello',
    kind: 2,
    startTimeUnixNano: `${now - 120}000000`,
    endTimeUnixNano: `${now}000000`,
  }
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'first-service' } }] }
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] })
}

/** What the terminal shows once: where to sign in, the keys, and a command that sends a span. */
export function describeFirstRun(firstRun: FirstRun, now: number, random: RandomBytes): string {
  const { base_url, workspace, sign_in, keys } = firstRun
  return `
A workspace "${workspace}" is ready. All of this is kept in ${firstRunFile} in the data folder and not shown again.

  Sign in     ${base_url}/app/sign-in
  E-mail      ${sign_in.email}
  Password    ${sign_in.password}

  Traces      ${keys.tracing}
  Logs        ${keys.logs}
  Browser     ${keys.publishable}
  API         ${keys.api}

Send a first span:

  curl -fsS ${base_url}/api/traces/v1/otlp -H 'Authorization: Bearer ${keys.tracing}' -H 'Content-Type: application/json' -d '${firstSpan(now, random)}'
`
}
