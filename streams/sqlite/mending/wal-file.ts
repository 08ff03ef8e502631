import { readSync } from 'node:fs'
import { endianness } from 'node:os'
import { withFile } from './raw-file.ts'
import { isPageSize, pageSizeDefault } from './sqlite-format.ts'

/**
 * A complete WAL frame: its page number, where the image begins in the file, and the database's size in pages if it ends a transaction,
 * else 0.
 */
export type WalFrame = Readonly<{ page: number; offset: number; pagesAfter: number }>
export type WalContent = Readonly<{
  pageSize: number
  /** The frames SQLite accepts: up to the last commit before the first invalid frame. */
  taken: readonly WalFrame[]
  /** Complete frames of the same round after those, up to the last that ends a transaction. */
  left: readonly WalFrame[]
  /** Proven damage. A torn last transaction is not damage. */
  damage: string | undefined
}>

const headerBytes = 32
const frameHeaderBytes = 24
const chunkFrames = 256

type Sum = readonly [number, number]

/** SQLite's checksum over pairs of 32-bit words, as unsigned numbers ("WAL-mode File Format", 4.1). */
function sumOf(bytes: Uint8Array, isSwapped: boolean, [first, second]: Sum): Sum {
  const copy = Buffer.from(bytes)
  if (isSwapped) copy.swap32()
  const words = new Int32Array(copy.buffer, copy.byteOffset, copy.length / 4)
  let [a, b] = [first | 0, second | 0]
  for (let index = 0; index < words.length; index += 2) {
    a = (a + (words[index] ?? 0) + b) | 0
    b = (b + (words[index + 1] ?? 0) + a) | 0
  }
  return [a >>> 0, b >>> 0]
}

type WalHeader = Readonly<{ pageSize: number; salt: Buffer; sum: Sum; isSwapped: boolean }>

function readHeader(header: Buffer): WalHeader | undefined {
  const magic = header.readUInt32BE(0)
  if (magic !== 0x37_7f_06_82 && magic !== 0x37_7f_06_83) return undefined
  const isSwapped = (magic === 0x37_7f_06_82) !== (endianness() === 'LE')
  const [a, b] = sumOf(header.subarray(0, 24), isSwapped, [0, 0])
  const pageSize = header.readUInt32BE(8)
  if (a !== header.readUInt32BE(24) || b !== header.readUInt32BE(28) || !isPageSize(pageSize)) return undefined
  return { pageSize, salt: Buffer.from(header.subarray(16, 24)), sum: [a, b], isSwapped }
}

/** A frame and how it relates to the frame before it. */
type Read = Readonly<{
  frame: WalFrame
  /** It belongs to the round that the header names. */
  isOfRound: boolean
  /** Its checksum continues that of the frame before it. */
  isNext: boolean
}>

function readFrames(descriptor: number, bytes: number, header: WalHeader): readonly Read[] {
  const { pageSize, salt, isSwapped } = header
  const frameBytes = frameHeaderBytes + pageSize
  const count = Math.floor((bytes - headerBytes) / frameBytes)
  const chunk = Buffer.alloc(chunkFrames * frameBytes)
  const frames: Read[] = []
  let stated = header.sum
  for (let first = 0; first < count; first += chunkFrames) {
    const here = Math.min(chunkFrames, count - first)
    readSync(descriptor, chunk, 0, here * frameBytes, headerBytes + first * frameBytes)
    for (let index = 0; index < here; index++) {
      const bytes = chunk.subarray(index * frameBytes, (index + 1) * frameBytes)
      const sum = sumOf(bytes.subarray(frameHeaderBytes), isSwapped, sumOf(bytes.subarray(0, 8), isSwapped, stated))
      stated = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
      frames.push({
        frame: {
          page: bytes.readUInt32BE(0),
          offset: headerBytes + (first + index) * frameBytes + frameHeaderBytes,
          pagesAfter: bytes.readUInt32BE(4),
        },
        isOfRound: salt.equals(bytes.subarray(8, 16)),
        isNext: sum[0] === stated[0] && sum[1] === stated[1],
      })
    }
  }
  return frames
}

const lastCommit = (frames: readonly Read[]): number =>
  frames.findLastIndex(({ frame, isOfRound }) => isOfRound && frame.pagesAfter > 0)

/**
 * A transaction begins only after the one before it is on disk. So if a later transaction ended and was followed by another, the broken
 * frame had been on disk. It is damage, not the torn end of an unacknowledged write.
 */
function isProven(frames: readonly Read[], broken: number): boolean {
  return frames.some(({ isOfRound, isNext }, index) => {
    const before = frames[index - 1]
    if (before === undefined || index <= broken || !isOfRound || !isNext) return false
    return before.isOfRound && before.frame.pagesAfter > 0
  })
}

/** If the WAL's header does not name a valid round, the round of the first frame is used. */
function withoutHeader(descriptor: number, bytes: number): WalContent {
  const first = Buffer.alloc(frameHeaderBytes)
  readSync(descriptor, first, 0, frameHeaderBytes, headerBytes)
  const header: WalHeader = {
    pageSize: pageSizeDefault,
    salt: first.subarray(8, 16),
    sum: [0, 0],
    isSwapped: endianness() !== 'LE',
  }
  const frames = readFrames(descriptor, bytes, header)
  const left = frames.slice(0, lastCommit(frames) + 1).filter(({ isOfRound }) => isOfRound)
  return {
    pageSize: pageSizeDefault,
    taken: [],
    left: left.map(({ frame }) => frame),
    damage: 'the header of its WAL does not match its checksum',
  }
}

function readContent(descriptor: number, bytes: number, start: Buffer): WalContent {
  const header = readHeader(start)
  if (header === undefined) return withoutHeader(descriptor, bytes)
  const frames = readFrames(descriptor, bytes, header)
  const found = frames.findIndex(({ isOfRound, isNext }) => !isOfRound || !isNext)
  const broken = found === -1 ? frames.length : found
  const taken = lastCommit(frames.slice(0, broken)) + 1
  const behind = frames.slice(taken, lastCommit(frames) + 1).filter(({ isOfRound }) => isOfRound)
  return {
    pageSize: header.pageSize,
    taken: frames.slice(0, taken).map(({ frame }) => frame),
    left: behind.map(({ frame }) => frame),
    damage: isProven(frames, broken) ? `frame ${broken + 1} of its WAL does not match its checksum` : undefined,
  }
}

/** The WAL beside a database; undefined if there is none or it is empty. Throws the file system's errors. */
export function readWal(file: string): WalContent | undefined {
  return withFile(`${file}-wal`, (descriptor, bytes) => {
    // The header is on disk before the first frame is written.
    if (bytes < headerBytes + frameHeaderBytes + 512) return undefined
    const start = Buffer.alloc(headerBytes)
    const now = Buffer.alloc(headerBytes)
    readSync(descriptor, now, 0, headerBytes, 0)
    let content: WalContent
    // Another process may start the WAL's next round while it is read.
    do {
      now.copy(start)
      content = readContent(descriptor, bytes, start)
      readSync(descriptor, now, 0, headerBytes, 0)
    } while (!now.equals(start))
    return content
  })
}
