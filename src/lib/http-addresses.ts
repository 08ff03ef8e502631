const nothing = 'is http(s)://user:password@host:port, or several with commas'

/** What follows a comma is another address only if it begins like one: a password may have commas. */
const between = /,(?=\s*https?:\/\/)/i

function addressIn(text: string): URL {
  const url = URL.canParse(text.trim()) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.host.includes(',')) throw new Error(nothing)
  return url
}

const credentialsOf = ({ username, password }: URL): string => `${username}:${password}`
const noCredentials = ':'

/**
 * Reads `http(s)://user:password@host:port`, or several of them with commas, which are of one service. Credentials are the same for all; one of
 * them is enough. Throws an Error that says what is wrong, without the text: it may hold a password.
 */
export function parseHttpAddresses(text: string): readonly URL[] {
  const urls = text.split(between).map(addressIn)
  if (new Set(urls.map(({ origin, pathname }) => origin + pathname)).size < urls.length)
    throw new Error('names an address twice')
  if (new Set(urls.map(({ protocol }) => protocol)).size > 1)
    throw new Error('has http:// for all of its addresses, or https:// for all')
  const [named, ...others] = urls.filter((url) => credentialsOf(url) !== noCredentials)
  if (named === undefined) return urls
  if (others.some((url) => credentialsOf(url) !== credentialsOf(named)))
    throw new Error('has the same user and password for all of its addresses')
  return urls.map((url) => Object.assign(new URL(url), { username: named.username, password: named.password }))
}
