import { scrypt, timingSafeEqual } from 'node:crypto'
import { toNfc } from '#src/lib/to-nfc.ts'
import { TransientError } from '#src/lib/failure.ts'
import type { RandomBytes } from './keys.ts'
import { createSemaphore } from '#src/lib/semaphore.ts'

/** The fewest and the most characters of a chosen password (scrypt itself takes any length). */
export const passwordCharactersMin = 10
const passwordCharactersMax = 1_024

/** scrypt (RFC 7914): N = 2^15, r = 8, p = 1 takes 32 MiB and about 80 ms. Each hash names its own costs, so they can be raised. */
const blockSize = 8
const hashBytes = 32

export interface Passwords {
  /** `scrypt$log2(N)$r$p$salt$hash`, base64url. */
  hash(password: string): Promise<string>
  /** False if there is no hash, as for an unknown user, but takes the same work. */
  verify(password: string, stored: string | undefined): Promise<boolean>
}

type Options = Readonly<{
  random: RandomBytes
  /** log2 of scrypt's N. */
  cost?: number
  /** The most hashes computed at once, and waiting. Beyond it TransientError, so that a flood of sign-ins does not grow memory. */
  atOnceMax?: number
  waitingMax?: number
}>

type Stored = Readonly<{ cost: number; salt: Uint8Array; hash: Uint8Array }>

function derive(password: string, salt: Uint8Array, cost: number): Promise<Buffer> {
  const options = { N: 2 ** cost, r: blockSize, p: 1, maxmem: 256 * blockSize * 2 ** cost }
  return new Promise((resolve, reject) => {
    scrypt(toNfc(password), salt, hashBytes, options, (error, hash) => (error === null ? resolve(hash) : reject(error)))
  })
}

/** Undefined if we did not write it: a damaged hash matches no password. */
function parseStored(stored: string): Stored | undefined {
  const [, cost = '', salt = '', hash = ''] = /^scrypt\$(\d{1,2})\$8\$1\$([\w-]{22,})\$([\w-]{43})$/.exec(stored) ?? []
  if (hash === '') return undefined
  return { cost: Number(cost), salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}

export function createPasswords({ random, cost = 15, atOnceMax = 2, waitingMax = 64 }: Options): Passwords {
  const semaphore = createSemaphore(atOnceMax)
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (semaphore.waiting() < waitingMax) return semaphore.run(1, work)
    throw new TransientError({ operation: 'check', subject: 'password', hint: 'too many sign-ins at once' })
  }
  const nobody: Stored = { cost, salt: random(16), hash: new Uint8Array(hashBytes) }
  return {
    hash: (password) =>
      inTurn(async () => {
        const salt = random(16)
        const hash = await derive(password, salt, cost)
        return ['scrypt', cost, blockSize, 1, Buffer.from(salt).toString('base64url'), hash.toString('base64url')].join(
          '$',
        )
      }),
    verify: (password, stored) =>
      inTurn(async () => {
        const known = stored === undefined ? undefined : parseStored(stored)
        const { salt, hash, cost } = known ?? nobody
        const derived = await derive(password, salt, cost)
        return timingSafeEqual(derived, hash) && known !== undefined
      }),
  }
}

/** What is wrong with a chosen password, in one sentence; undefined if it is acceptable. */
export function passwordProblem(password: string): string | undefined {
  const characters = Array.from(toNfc(password)).length
  if (characters < passwordCharactersMin) return `The password must have at least ${passwordCharactersMin} characters.`
  if (characters > passwordCharactersMax) return `The password may have at most ${passwordCharactersMax} characters.`
  return undefined
}
