import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import type { Limits } from '#src/config.ts'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { freeBytes, joinBytes } from '#src/lib/free-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'
import { heldMs } from './held.ts'
import { decompress, encodings, noRoom, type Encoding, type TakeBytes } from './decompress.ts'

/** Bytes of request bodies held in memory at once. */
export type BodyBudget = Readonly<{
  take: TakeBytes
  give(bytes: number): void
  held(): number
}>

/**
 * The budget of a process for all its requests. `shareOf`: the budget of one request of an owner. All requests of an owner together hold at most
 * half. A request that is almost alone may hold `loneBytesMax`, if that is more: otherwise the largest body allowed could be refused for ever.
 */
export type SharedBodyBudget = BodyBudget & Readonly<{ shareOf(owner: string): BodyBudget }>

/** A request counts as alone while others hold at most this part (1/8) of the budget, as small requests do at any time. */
const besideLone = 8

function createBudget(bytesMax: number) {
  let held = 0
  const hasRoom = (bytes: number): boolean => held + bytes <= bytesMax
  const hold = (bytes: number): void => {
    held += bytes
  }
  return {
    hasRoom,
    hold,
    take: (bytes: number): boolean => {
      if (!hasRoom(bytes)) return false
      hold(bytes)
      return true
    },
    give: (bytes: number): void => {
      held -= bytes
    },
    held: (): number => held,
  }
}

type Budget = ReturnType<typeof createBudget>

export function createBodyBudget(bytesMax: number, loneBytesMax = 0): SharedBodyBudget {
  const all = createBudget(bytesMax)
  const shares = new Map<string, Budget>()
  return {
    take: all.take,
    give: all.give,
    held: all.held,
    shareOf(owner) {
      const shareNow = (): Budget => shares.get(owner) ?? createBudget(bytesMax / 2)
      let own = 0
      const isAlone = (bytes: number): boolean =>
        own + bytes <= loneBytesMax && all.held() - own <= bytesMax / besideLone
      return {
        take(bytes) {
          const share = shareNow()
          if (!(share.hasRoom(bytes) && all.hasRoom(bytes)) && !isAlone(bytes)) return false
          share.hold(bytes)
          all.hold(bytes)
          own += bytes
          shares.set(owner, share)
          return true
        },
        give(bytes) {
          const share = shareNow()
          share.give(bytes)
          all.give(bytes)
          own -= bytes
          // Removed when unused: owners come and go, while the process stays.
          if (share.held() === 0) shares.delete(owner)
        },
        held: () => shareNow().held(),
      }
    },
  }
}

type BodyOptions = Readonly<{
  limits: Pick<Limits, 'bodyBytesMax' | 'decodedBytesMax' | 'compressionRatioMax' | 'bodyTimeoutMs'>
  /** Accepted content codings, besides none. */
  encodings: readonly Encoding[]
  budget: BodyBudget
}>

const tooLarge = (bytesMax: number): Refusal =>
  refusal('payload_too_large', `The body is larger than ${bytesMax} bytes; send smaller batches.`)

/** Gzip that no header declares would be stored as lines of noise, behind a 2xx. No format that is read here begins with these bytes (RFC 1952). */
const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 0x08

const packedUnsaid = refusal('invalid_body', 'The body is gzip, and no header says so: send "Content-Encoding: gzip".')
const packedTwice = refusal('invalid_body', 'What the body is when decompressed is gzip again: pack it once.')

/** The content coding of a request, undefined for none; several in a row are refused (RFC 9110 §8.4). */
function readEncoding(ctx: Context, allowed: readonly Encoding[]): Result<Encoding | undefined, Refusal> {
  const header = ctx.get('Content-Encoding')
  // Node decodes no transfer coding but `chunked`: a body with another one would be taken for its plain bytes.
  if (!/^(?:chunked)?$/i.test(ctx.get('Transfer-Encoding'))) {
    return fail(
      refusal('unsupported_encoding', 'A body that is packed says so in Content-Encoding, not Transfer-Encoding.'),
    )
  }
  const named = header
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity')
  if (named.length === 0) return ok(undefined)
  const name = named[0] === 'x-gzip' ? 'gzip' : named[0]
  const encoding = encodings.find((each) => each === name)
  const known = allowed.join(', ')
  if (named.length > 1)
    return fail(refusal('unsupported_encoding', `One content encoding at a time: none, or one of ${known}.`))
  if (encoding === undefined || !allowed.includes(encoding)) {
    return fail(
      refusal('unsupported_encoding', `This content encoding is not supported here; send none, or one of ${known}.`),
    )
  }
  return ok(encoding)
}

function receive(
  request: IncomingMessage,
  { bodyBytesMax, bodyTimeoutMs }: BodyOptions['limits'],
  take: TakeBytes,
): Promise<Result<Uint8Array, Refusal>> {
  const cut = fail(refusal('invalid_body', 'The body ended before it was complete.'))
  if (request.destroyed && !request.complete) return Promise.resolve(cut)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const finish = (result: Result<Uint8Array, Refusal>): void => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onClose)
      // Refused half-way: the code that answers reads and drops the rest, so that the answer arrives.
      if (!result.ok) request.pause()
      resolve(result)
    }
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) return finish(fail(tooLarge(bodyBytesMax)))
      if (!take(chunk.length)) return finish(fail(noRoom))
      chunks.push(chunk)
    }
    const onEnd = (): void => {
      const [only] = chunks
      if (chunks.length === 1 && only !== undefined) return finish(ok(only))
      finish(ok(joinBytes(chunks, bytes)))
    }
    const onClose = (): void => finish(cut)
    const slow = refusal('body_timeout', `The body was not delivered within ${bodyTimeoutMs / 1000} s.`)
    let timer: NodeJS.Timeout
    const wait = (): void => {
      const until = performance.now() + bodyTimeoutMs
      // If this process was held up, the sender is not to blame: most senders never repeat what was answered with 408.
      const isHeld = (): boolean => performance.now() - until > heldMs
      timer = setTimeout(() => (isHeld() ? wait() : finish(fail(slow))), bodyTimeoutMs)
    }
    wait()
    request.on('error', () => undefined)
    request.on('data', onData).on('end', onEnd).on('close', onClose)
  })
}

async function unpack(
  encoding: Encoding,
  body: Uint8Array,
  { decodedBytesMax: bytesMax, compressionRatioMax: ratioMax }: BodyOptions['limits'],
  take: TakeBytes,
): Promise<Result<Uint8Array, Refusal>> {
  const decoded = await decompress(encoding, body, { bytesMax, ratioMax }, take)
  return decoded.ok && isGzip(decoded.value) ? fail(packedTwice) : decoded
}

/** A body as its handler gets it. `gzip`: the bytes as sent, if they were gzip and the body is not empty. */
export type Body = Readonly<{ bytes: Uint8Array; gzip?: Uint8Array }>

type Held = Readonly<{ take: TakeBytes; give(bytes: number): void }>

async function readBody(ctx: Context, { limits, encodings: allowed }: BodyOptions, { take, give }: Held) {
  const encoding = readEncoding(ctx, allowed)
  if (!encoding.ok) return encoding
  if (Number(ctx.get('Content-Length')) > limits.bodyBytesMax) return fail(tooLarge(limits.bodyBytesMax))
  // An HTTP/1.0 client would take `100 Continue` for the answer (RFC 9110 §10.1.1).
  if (ctx.get('Expect') !== '' && ctx.req.httpVersion !== '1.0') ctx.res.writeContinue()
  const received = await receive(ctx.req, limits, take)
  if (!received.ok) return received
  if (encoding.value === undefined) return isGzip(received.value) ? fail(packedUnsaid) : ok({ bytes: received.value })
  const decoded = await unpack(encoding.value, received.value, limits, take)
  if (!decoded.ok) return decoded
  if (encoding.value === 'gzip' && received.value.length > 0) return ok({ bytes: decoded.value, gzip: received.value })
  const { length } = received.value
  freeBytes(received.value)
  give(length)
  return ok({ bytes: decoded.value })
}

/**
 * Reads and decompresses the body of a request, and lets `use` work with it. Counts the bytes that really come, whatever the headers say.
 * Refusals: 413 (before reading, where the length is declared), 408, 415, 400 for a cut or damaged body, 503 when the process holds too
 * many bytes already. The budget has the body's bytes back once `use` is done, and not when the sender hangs up: what waits for the log
 * stays in memory.
 */
export async function useBody<Answer>(
  ctx: Context,
  options: BodyOptions,
  use: (body: Body) => Promise<Answer> | Answer,
): Promise<Result<Answer, Refusal>> {
  const { budget } = options
  let held = 0
  const take: TakeBytes = (bytes) => {
    if (ctx.res.closed || !budget.take(bytes)) return false
    held += bytes
    return true
  }
  const give = (bytes: number): void => {
    budget.give(bytes)
    held -= bytes
  }
  try {
    const body: Result<Body, Refusal> = await readBody(ctx, options, { take, give })
    return body.ok ? ok(await use(body.value)) : body
  } finally {
    give(held)
  }
}
