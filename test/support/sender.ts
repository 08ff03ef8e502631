import http from 'node:http'
import type { Server } from './server.ts'

export type Post = Readonly<{
  path: string
  key: string
  body: string
  headers?: Readonly<Record<string, string>>
  /** `false`: a connection for this request alone. */
  agent: http.Agent | false
  /** Half of the body is sent, and the rest when this resolves. */
  until?: () => Promise<unknown>
}>

/**
 * What a connection says when the process at its other end is killed; `aborted` where the head of an answer had come and the rest had not.
 * That nobody listens is not among it.
 */
export const cutOff = /ECONNRESET|EPIPE|socket hang up|aborted/

export type Posted = Readonly<{ status: number; body: string; connection: string | undefined }>

/** Sends a request once, as senders do that never try again: rejects with whatever the connection says. */
export function sendOnce({ baseUrl }: Pick<Server, 'baseUrl'>, post: Post): Promise<Posted> {
  const { path, key, body, headers, agent, until } = post
  return new Promise((resolve, reject) => {
    const request = http.request(baseUrl + path, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(until === undefined ? {} : { expect: '100-continue' }),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: text, connection: response.headers.connection }),
      )
    })
    if (until === undefined) {
      request.end(body)
      return
    }
    const bytes = Buffer.from(body)
    const half = bytes.length >> 1
    // The server asks for the body once it has taken the request: until then the connection may still wait to be accepted.
    request.on('continue', () => {
      request.write(bytes.subarray(0, half))
      until().then(() => request.end(bytes.subarray(half)), reject)
    })
    request.flushHeaders()
  })
}
