import { createHmac } from 'node:crypto'
import { addressGroup, networkOf } from '#src/lib/address-group.ts'
import type { Ticks } from '#src/lib/clock.ts'

/** Number of buckets: the memory is fixed, whatever is tried. A keyed hash assigns names to buckets, so nobody can aim at one. */
const bucketsMax = 65_536

type Table = Readonly<{
  /** Takes a token from the name's bucket. Returns 0, or the milliseconds until there is a token. */
  take(name: string): number
  /** Gives the token back after a successful attempt. */
  give(name: string): void
}>

/** Token buckets that hold `perMinute` tokens and refill at that rate. */
function createTable(perMinute: number, ticks: Ticks, secret: string): Table {
  const missing = new Float64Array(bucketsMax)
  const seenAt = new Float64Array(bucketsMax)
  const msPerToken = 60_000 / perMinute
  const placeOf = (name: string): number => createHmac('sha256', secret).update(name).digest().readUInt16BE(0)
  const missingNow = (place: number): number =>
    Math.max(0, (missing[place] ?? 0) - (ticks() - (seenAt[place] ?? 0)) / msPerToken)
  return {
    take: (name) => {
      const place = placeOf(name)
      const before = missingNow(place)
      if (before + 1 > perMinute) return Math.ceil((before + 1 - perMinute) * msPerToken)
      missing[place] = before + 1
      seenAt[place] = ticks()
      return 0
    },
    give: (name) => {
      const place = placeOf(name)
      missing[place] = missingNow(place) - 1
      seenAt[place] = ticks()
    },
  }
}

type Attempt = Readonly<{
  /** The e-mail address that was typed, normalised, whether or not an account has it. */
  email: string
  address: string
  /** The person has signed in from this address before: attempts by strangers cannot lock them out there. */
  isKnown: boolean
}>

export type SignInThrottle = Readonly<{
  /** Returns 0 if the password may be checked, otherwise the seconds to wait. */
  take(attempt: Attempt): number
  /** The password was right. Gives the token back, because only failures count. */
  succeeded(attempt: Attempt): void
}>

type Options = Readonly<{ perAddress: number; perNetwork: number; perAccount: number; ticks: Ticks; secret: string }>

/** Limits failed sign-ins per minute, by address, network and account. No account is ever locked: a token returns every few seconds. */
export function createSignInThrottle(options: Options): SignInThrottle {
  const { perAddress, perNetwork, perAccount, ticks, secret } = options
  const addresses = createTable(perAddress, ticks, secret)
  const networks = createTable(perNetwork, ticks, secret)
  const accounts = createTable(perAccount, ticks, secret)
  const accountOf = ({ email, address, isKnown }: Attempt): string =>
    isKnown ? `${email}\n${addressGroup(address)}` : email
  /** What an attempt is counted by. A network of one address is counted as that. Neighbours cannot keep a known person out. */
  const countedBy = (attempt: Attempt): readonly (readonly [Table, name: string])[] => {
    const [address, network] = [addressGroup(attempt.address), networkOf(attempt.address)]
    const isOfMany = network !== address && !attempt.isKnown
    return [[addresses, address], ...(isOfMany ? [[networks, network] as const] : []), [accounts, accountOf(attempt)]]
  }
  return {
    take: (attempt) => {
      for (const [table, name] of countedBy(attempt)) {
        const ms = table.take(name)
        if (ms > 0) return Math.ceil(ms / 1000)
      }
      return 0
    },
    succeeded: (attempt) => {
      for (const [table, name] of countedBy(attempt)) table.give(name)
    },
  }
}
