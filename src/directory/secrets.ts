import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writeDurably } from '#src/lib/durable-files.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { RandomBytes } from './keys.ts'

export type Secrets = Readonly<{
  /** Keys that sign cookies: the first signs, all verify, so that they can be changed without signing anybody out. */
  sessionKeys: readonly string[]
  /** The key for hashing API keys. Without it the directory log is useless to a thief, and to us. */
  pepper: string
}>

const secretCharactersMin = 32
const secret = z.string().min(secretCharactersMin)
const schema = z.object({ sessionKeys: z.array(secret).min(1), pepper: secret })

type Options = Readonly<{
  dataFolder: string
  random: RandomBytes
  /** From SESSION_KEYS; overrides the file's. */
  sessionKeys?: readonly string[] | undefined
  /** From KEY_PEPPER, empty if not set. A new file takes it; an existing file must already have it. */
  pepper?: string | undefined
}>

function refuse(file: string, hint: string, cause?: unknown): PermanentError {
  return new PermanentError({ operation: 'read secrets', subject: file, hint, cause })
}

const isWeak = (secret: string): boolean => secret.trim().length < secretCharactersMin || new Set(secret).size < 8

function checkSessionKeys(keys: readonly string[]): readonly string[] {
  if (keys.length > 0 && !keys.some(isWeak)) return keys
  const hint = `each key needs at least ${secretCharactersMin} random characters (openssl rand -hex 32)`
  throw refuse('SESSION_KEYS', hint)
}

function checkPepper(pepper: string): string {
  if (!isWeak(pepper)) return pepper
  throw refuse('KEY_PEPPER', `it needs at least ${secretCharactersMin} random characters (openssl rand -hex 32)`)
}

/** The secrets of a cluster, which its operator gives to every process. Throws PermanentError if they are weak. */
export function givenSecrets({ sessionKeys, pepper }: Secrets): Secrets {
  return { sessionKeys: checkSessionKeys(sessionKeys), pepper: checkPepper(pepper) }
}

/** Creates the file completely or not at all. Of two processes at once one wins, and both read its secrets. */
function createFile(file: string, random: RandomBytes, pepper: string | undefined): void {
  const fresh = (): string => Buffer.from(random(32)).toString('base64url')
  const temporary = `${file}.${Buffer.from(random(8)).toString('hex')}`
  try {
    writeDurably(temporary, `${JSON.stringify({ sessionKeys: [fresh()], pepper: pepper ?? fresh() }, null, 2)}\n`)
    linkSync(temporary, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}

function readPrivately(file: string): string {
  try {
    // A backup tool may have widened the mode; nobody else needs access.
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw refuse(file, 'it must belong to the user that the server runs as', cause)
  }
}

/**
 * The secrets of an installation, from `secrets.json` (mode 0600) in the data folder. Created once, while the folder has no directory yet.
 * A folder with a directory but no secrets, or with short ones, is refused with PermanentError: to continue would make every key invalid,
 * or forgeable.
 */
export function loadSecrets({ dataFolder, random, sessionKeys, pepper }: Options): Secrets {
  const given = pepper === undefined || pepper === '' ? undefined : checkPepper(pepper)
  const file = join(dataFolder, 'secrets.json')
  if (!existsSync(file)) {
    if (existsSync(join(dataFolder, 'directory.db'))) {
      throw refuse(
        file,
        'it is missing, and the keys in directory.db cannot be checked without it: restore it from a backup',
      )
    }
    mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
    createFile(file, random, given)
  }
  const text = readPrivately(file)
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch (cause) {
    throw refuse(file, 'it is not JSON: restore it from a backup', cause)
  }
  const parsed = schema.safeParse(fields)
  if (!parsed.success)
    throw refuse(file, `it lacks secrets of at least ${secretCharactersMin} characters: restore it from a backup`)
  if (given !== undefined && given !== parsed.data.pepper) {
    throw refuse('KEY_PEPPER', `it is not the pepper of ${file}, which its API keys need: unset it, or give that one`)
  }
  return {
    sessionKeys: sessionKeys === undefined ? parsed.data.sessionKeys : checkSessionKeys(sessionKeys),
    pepper: parsed.data.pepper,
  }
}
