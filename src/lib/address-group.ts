import { isIPv6 } from 'node:net'

/** The IPv4 address that is written as one of IPv6. */
const mappedOf = (address: string): string | undefined => /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]

/** The first 16-bit groups of an IPv6 address; undefined for any other, and for an IPv4 address that is written as one. */
function beginning(address: string, groupsWanted: number): string | undefined {
  if (!isIPv6(address) || mappedOf(address) !== undefined) return undefined
  const [head = '', tail = ''] = address.split('%')[0]?.toLowerCase().split('::') ?? []
  const groups = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0')
  return [...groups, ...zeros, ...after].slice(0, groupsWanted).join(':')
}

/** What counts as one address: of IPv6 a whole /64, which a subscriber has at least. */
export const addressGroup = (address: string): string => beginning(address, 4) ?? mappedOf(address) ?? address

/** What counts as one network: of IPv6 a /48, which anybody can have, with 65,536 of those groups; of IPv4 the address alone. */
export const networkOf = (address: string): string => beginning(address, 3) ?? addressGroup(address)
