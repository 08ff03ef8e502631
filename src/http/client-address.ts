import type { Context } from 'koa'

/** `203.0.113.7:49152`, `[2001:db8::7]:443`, `[2001:db8::7]`. */
const withPort = /^(?:(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}|\[([\da-fA-F:.]+)\](?::\d{1,5})?)$/

/**
 * The address that a request comes from, without a port. Some proxies append the port in `X-Forwarded-For` (Azure Application Gateway does). It
 * differs with each connection, so by it no client would be recognised or held to a rate.
 */
export function clientAddress({ ip }: Pick<Context, 'ip'>): string {
  const [, plain, bracketed] = withPort.exec(ip) ?? []
  return plain ?? bracketed ?? ip
}
