import { readSync } from 'node:fs'
import { endianness } from 'node:os'
import { withFile } from './raw-file.ts'
import { isPageSize, pageSizeDefault } from './sqlite-format.ts'

/** A whole frame of a WAL: which page it holds, where its image begins in the file, and the database’s pages where it ends a transaction, else 0. */
export type WalFrame = Readonly<{ page: number; offset: number; pagesAfter: number }>
export type WalContent = Readonly<{
  pageSize: number
  /** What SQLite takes: up to the last commit before the first frame that does not fit. */
  taken: readonly WalFrame[]
  /** Whole frames of the same round behind that, up to the last that ends a transaction. */
  left: readonly WalFrame[]
  /** What is proven to be damaged; a last transaction that was torn off is not. */
  damage: string | undefined
}>

const headerBytes = 32
const frameHeaderBytes = 24
const chunkFrames = 256

type Sum = readonly [number, number]

/** SQLite’s sum over pairs of 32-bit words, as unsigned numbers ("WAL-mode File Format", 4.1). */
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

/** A frame and how it stands to its neighbours. */
type Read = Readonly<{
  frame: WalFrame
  /** Of the round that the header names. */
  isOfRound: boolean
  /** Its sum follows from the one that the frame before it states. */
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
 * A transaction begins when the one before it is on the disk. So what is broken was on the disk, and is not the torn end of what nobody
 * was told of, when a transaction that ends behind it was followed by another.
 */
function isProven(frames: readonly Read[], broken: number): boolean {
  return frames.some(({ isOfRound, isNext }, index) => {
    const before = frames[index - 1]
    if (before === undefined || index <= broken || !isOfRound || !isNext) return false
    return before.isOfRound && before.frame.pagesAfter > 0
  })
}

/** Of a WAL whose header does not say which round it is of, the frames are of the first one’s. */
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

/** The WAL beside a database; undefined when there is none, or nothing in it. Throws what the file system does. */
export function readWal(file: string): WalContent | undefined {
  return withFile(`${file}-wal`, (descriptor, bytes) => {
    // The header is on the disk before the first frame is written.
    if (bytes < headerBytes + frameHeaderBytes + 512) return undefined
    const start = Buffer.alloc(headerBytes)
    const now = Buffer.alloc(headerBytes)
    readSync(descriptor, now, 0, headerBytes, 0)
    let content: WalContent
    // Somebody who writes beside us may begin its next round while it is read.
    do {
      now.copy(start)
      content = readContent(descriptor, bytes, start)
      readSync(descriptor, now, 0, headerBytes, 0)
    } while (!now.equals(start))
    return content
  })
}
