import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const downloadTimeoutMs = 600_000

/** Fails, and removes the file, unless it is to the byte what the digest says. */
export async function checkDigest(file: string, sha512: string): Promise<void> {
  const hash = createHash('sha512')
  await pipeline(createReadStream(file), hash)
  const actual = hash.digest('hex')
  if (actual === sha512) return
  rmSync(file)
  throw new Error(
    `What was brought as ${file} has the SHA-512 ${actual}, but ${sha512} was expected: it was thrown away.`,
  )
}

async function fetchTo(url: string, file: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs) })
  if (!response.ok || response.body === null) throw new Error(`status ${response.status}`)
  await pipeline(Readable.fromWeb(response.body), createWriteStream(file))
}

/** Downloads from the first of the addresses that gives it; fails with one line when none does. */
export async function download(urls: readonly string[], file: string): Promise<void> {
  const failures: string[] = []
  for (const url of urls) {
    try {
      return await fetchTo(url, file)
    } catch (failure) {
      const { message, cause } = failure as Error
      failures.push(`${url}: ${cause instanceof Error ? cause.message : message}`)
    }
  }
  throw new Error(`No download: ${failures.join('; ')}`)
}
