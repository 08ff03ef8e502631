import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { openPayload } from '#src/events/codec.ts'
import type { EventType, RecordedEvent } from '#src/events/envelope.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { rejectedOf, type Rejected } from './replay-answer.ts'
import { UsageError } from './verb.ts'

/** Where events of a type are sent, and which variable holds the key; what was refused at the edge cannot be sent again. */
const routes: Partial<Record<EventType, Readonly<{ path: string; key: string }>>> = {
  'spans.received': { path: '/api/traces/v1/otlp', key: 'TRACES_TOKEN' },
  'logs.received': { path: '/api/logs/v1/ingest', key: 'LOGS_TOKEN' },
  'rum.received': { path: '/api/rum/v1/ingest', key: 'RUM_KEY' },
}

const passing: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
const attemptsMax = 30
const waitMsMax = 30_000
const timeoutMs = 60_000
/** Above this a body is sent packed: it may be larger than a body may be as sent. */
const plainBytesMax = 1024 * 1024

/** How long to wait before an event is sent again: as long as the other installation asks, but between a tenth of a second and half a minute. */
export function waitMsOf(response: Response | undefined): number {
  const seconds = Number(response?.headers.get('Retry-After') ?? 1)
  return Math.min(waitMsMax, Math.max(100, Number.isFinite(seconds) ? seconds * 1_000 : 1_000))
}

function requestOf(event: RecordedEvent, key: string): RequestInit {
  const body = openPayload(event)
  const isPacked = body.length > plainBytesMax
  return {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': event.contentType,
      // The event's id, so that an event sent again is not stored again, as long as the other remembers it: a day or more.
      'Idempotency-Key': event.id,
      ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
    },
    body: Buffer.from(isPacked ? gzipSync(body) : body),
    redirect: 'manual',
  }
}

type Answer = Readonly<{ response: Response; said: Uint8Array }> | Readonly<{ cause: unknown }>

async function post(address: string, request: RequestInit): Promise<Answer> {
  try {
    const response = await fetch(address, { ...request, signal: AbortSignal.timeout(timeoutMs) })
    return { response, said: new Uint8Array(await response.arrayBuffer()) }
  } catch (cause) {
    return { cause }
  }
}

const faultOf = (cause: unknown): string => {
  const { code, message } = ((cause as Error).cause ?? cause) as NodeJS.ErrnoException
  return `gives no answer (${code ?? message})`
}

type Sent = Readonly<{ address: string; key: string; tellWaiting: (reason: string) => void }>

/** Sends an event until it is stored. Resolves with what of it the other installation has refused. */
async function deliver(event: RecordedEvent, { address, key, tellWaiting }: Sent): Promise<Rejected> {
  const operation = 'send'
  const subject = `the event at ${event.position} to ${address}`
  let reason = ''
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const answer = await post(address, requestOf(event, key))
    if ('response' in answer && !passing.has(answer.response.status)) {
      const { response, said } = answer
      const type = response.headers.get('Content-Type') ?? ''
      const rejected = response.ok ? rejectedOf(event.type, type, said) : undefined
      if (rejected !== undefined) return rejected
      // A 2xx from another program, such as a page for any address, means that nothing is stored.
      const what = response.ok ? `, which is not how an event is taken` : ''
      const hint = `it answers ${response.status}${what}: ${Buffer.from(said).toString().slice(0, 300)}`
      throw new PermanentError({ operation, subject, hint })
    }
    reason = 'response' in answer ? `answers ${answer.response.status}` : faultOf(answer.cause)
    if (attempt === 0) {
      tellWaiting(`${address} ${reason}; the event at ${event.position} is sent again`)
    }
    await pause(waitMsOf('response' in answer ? answer.response : undefined))
  }
  const hint = `it ${reason}; go on from here when the other takes events: --from ${event.position}`
  throw new TransientError({ operation, subject, hint })
}

/**
 * Sends events to another installation's ingest, one after the other, each until it is stored there: what of it was refused there, with
 * 0 records where nothing was. Undefined for an event that is none of a sender's. Throws TransientError when the other does not answer
 * for long, PermanentError when it refuses all of one, or is none. `tellWaiting` hears why one has to be sent again.
 */
export function createSender(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  tellWaiting: Sent['tellWaiting'] = () => undefined,
) {
  const base = url.replace(/\/+$/, '')
  if (!/^https?:\/\//.test(base) || !URL.canParse(base))
    throw new UsageError('--to-url is an address, http://… or https://…')
  return async (event: RecordedEvent): Promise<Rejected | undefined> => {
    const route = routes[event.type]
    if (route === undefined) return undefined
    const key = env[route.key]
    if (key === undefined || key === '') {
      throw new UsageError(`${event.type} needs a key of the other installation: set ${route.key}`)
    }
    return deliver(event, { address: `${base}${route.path}`, key, tellWaiting })
  }
}
