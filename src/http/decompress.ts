import zlib, { type ZstdOptions } from 'node:zlib'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import { freeBytes, joinBytes } from '#src/lib/free-bytes.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'

export const encodings = ['gzip', 'deflate', 'br', 'zstd'] as const
export type Encoding = (typeof encodings)[number]

/** Accounts for bytes as they are produced; false: the budget has no room for them. */
export type TakeBytes = (bytes: number) => boolean

/** Results up to this size are inflated on the event loop, where 512 KiB take a millisecond. */
const syncBytesMax = 512 * 1024
const chunkBytesMax = 1024 * 1024
/** A zstd body with more frames is refused: each costs a decompressor, whatever its size. */
const framesMax = 1_000
const laterFramesChunkBytes = 64 * 1024
/** The largest window that a `zstd` body may ask for (RFC 9659 §3): 8 MiB. */
const zstdOptions: ZstdOptions = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }

type Bound = Readonly<{ bytesMax: number; refused: Refusal }>
const tooLarge = (bytesMax: number): Bound => ({
  bytesMax,
  refused: refusal(
    'payload_too_large',
    `The body is larger than ${bytesMax} bytes when decompressed; send smaller batches.`,
  ),
})
const tooDense = (bytesMax: number, ratioMax: number): Bound => ({
  bytesMax,
  refused: refusal(
    'payload_too_large',
    `The body becomes more than ${ratioMax} times larger when decompressed; send it with less compression, or none.`,
  ),
})
const notValid = (encoding: Encoding): Refusal =>
  refusal('invalid_body', `The body is not valid ${encoding}: it is damaged, cut off, or followed by something else.`)
const tooManyFrames: Refusal = refusal(
  'payload_too_large',
  `The body has more than ${framesMax} zstd frames; send it compressed as one.`,
)
export const noRoom: Refusal = refusal('overloaded', 'Too many bodies are being received at once; send this one again.')

/** `deflate` is the zlib format (RFC 9110 §8.4.1.2), but some senders mean raw deflate. */
function isZlib(body: Uint8Array): boolean {
  const [first = 0, second = 0] = body
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

function streamOf(encoding: Encoding, body: Uint8Array, chunkSize: number) {
  const options = { chunkSize }
  if (encoding === 'gzip') return zlib.createGunzip(options)
  if (encoding === 'br') return zlib.createBrotliDecompress(options)
  if (encoding === 'zstd') return zlib.createZstdDecompress({ ...zstdOptions, ...options })
  return isZlib(body) ? zlib.createInflate(options) : zlib.createInflateRaw(options)
}

/** The inflated size that a gzip body claims (RFC 1952 ISIZE): only a hint for buffers, since a sender may write anything there. */
function hintOf(encoding: Encoding, body: Uint8Array): number {
  if (encoding !== 'gzip' || body.length < 18) return body.length * 6
  return new DataView(body.buffer, body.byteOffset, body.byteLength).getUint32(body.length - 4, true)
}

/** Whether a zstd frame begins here, be it one to be skipped (RFC 8878 §3.1). */
function isFrame(body: Uint8Array, at: number): boolean {
  if (body.length - at < 4) return false
  const magic = new DataView(body.buffer, body.byteOffset + at, 4).getUint32(0, true)
  return magic === 0xfd_2f_b5_28 || magic >>> 4 === 0x1_84_d2_a5
}

function inflateInSteps(
  encoding: Encoding,
  body: Uint8Array,
  { bytesMax, refused: tooMuch }: Bound,
  take: TakeBytes,
): Promise<Result<Uint8Array, Refusal>> {
  const chunkSize = Math.max(16 * 1024, Math.min(hintOf(encoding, body) + 64, chunkBytesMax))
  const chunks: Buffer[] = []
  let bytes = 0
  return new Promise((resolve) => {
    const inflate = (from: number, frame: number): void => {
      const rest = body.subarray(from)
      const stream = streamOf(encoding, rest, frame === 1 ? chunkSize : laterFramesChunkBytes)
      const stop = (refused: Refusal): void => {
        stream.destroy()
        // The last chunk may lie in a buffer that the stream still writes to.
        for (const chunk of chunks.splice(0).slice(0, -1)) freeBytes(chunk)
        resolve(fail(refused))
      }
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > bytesMax) return stop(tooMuch)
        if (!take(chunk.length)) return stop(noRoom)
        // Copied: a small frame's chunk would keep its decompressor's whole buffer alive.
        chunks.push(frame === 1 ? chunk : Buffer.from(chunk))
      })
      stream.on('error', () => stop(notValid(encoding)))
      stream.on('end', () => {
        const end = from + stream.bytesWritten
        if (end === body.length) {
          return resolve(ok(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : joinBytes(chunks, bytes)))
        }
        // Node's zstd stops after the first frame.
        if (encoding !== 'zstd' || !isFrame(body, end)) return stop(notValid(encoding))
        if (frame === framesMax) return stop(tooManyFrames)
        inflate(end, frame + 1)
      })
      stream.end(rest)
    }
    inflate(0, 1)
  })
}

/** Inflates small gzip bodies synchronously: a round trip through the thread pool costs more. Undefined: not valid gzip to the last byte. */
function gunzipAtOnce(body: Uint8Array): Uint8Array | undefined {
  try {
    const options = { maxOutputLength: syncBytesMax, chunkSize: hintOf('gzip', body) + 64, info: true }
    // With `info` the result has more than its type says. Zeros after the end count as no error.
    const { buffer, engine } = zlib.gunzipSync(body, options) as unknown as { buffer: Buffer; engine: zlib.Gunzip }
    return engine.bytesWritten === body.length ? buffer : undefined
  } catch {
    return undefined
  }
}

/**
 * The decompressed body, at most `bytesMax` bytes, and at most `ratioMax` times its size once that is over a megabyte; members of a gzip
 * body (RFC 1952 §2.2) and frames of a zstd one (RFC 8878 §3) are joined. Off the event loop, except for small bodies. Refusals: 413, 400, or 503 without room.
 */
export async function decompress(
  encoding: Encoding,
  body: Uint8Array,
  { bytesMax, ratioMax }: Readonly<{ bytesMax: number; ratioMax: number }>,
  take: TakeBytes,
): Promise<Result<Uint8Array, Refusal>> {
  if (body.length === 0) return ok(body)
  const grownMax = Math.max(1024 * 1024, body.length * ratioMax)
  const bound = grownMax < bytesMax ? tooDense(grownMax, ratioMax) : tooLarge(bytesMax)
  const atOnceMax = Math.min(syncBytesMax, bound.bytesMax)
  if (encoding === 'gzip' && body.length <= syncBytesMax && hintOf(encoding, body) < atOnceMax) {
    const decoded = gunzipAtOnce(body)
    if (decoded !== undefined) {
      if (decoded.length > bound.bytesMax) return fail(bound.refused)
      return take(decoded.length) ? ok(decoded) : fail(noRoom)
    }
  }
  return inflateInSteps(encoding, body, bound, take)
}
