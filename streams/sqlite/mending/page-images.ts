import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { readWal, type WalContent, type WalFrame } from './wal-file.ts'
import { isPageSize, magic, pageSizeDefault } from './sqlite-format.ts'

/** The content that a page had at some time, with its number. */
export type PageImage = Readonly<{ page: number; image: Buffer }>

/** Images of a page, newest first: from all WAL frames, from the frames SQLite accepts, or from the database file only. */
export const versions = ['newest', 'taken', 'file'] as const
export type Version = (typeof versions)[number]

/** All page images in a damaged database and its WAL, read as bytes. SQLite would stop at the damage, and might write. */
export type PageImages = Readonly<{
  pageSize: number
  /** Of the database file and the WAL together. */
  bytes: number
  /** Every image; those of the WAL come last, in order. */
  all(): Generator<PageImage>
  /** Undefined if there is none. Valid until the next call. */
  image(page: number, version: Version): Buffer | undefined
  close(): void
}>

const chunkBytes = 1_048_576

/** The page size: from the header if that is plausible, else the default that every log has. */
function readPageSize(descriptor: number): number {
  const header = Buffer.alloc(18)
  readSync(descriptor, header, 0, header.length, 0)
  if (!header.subarray(0, magic.length).equals(magic)) return pageSizeDefault
  const size = header.readUInt16BE(16)
  return isPageSize(size) ? size : pageSizeDefault
}

type NewestFrames = Readonly<Record<Version, ReadonlyMap<number, WalFrame>>>

function newestFrames(wal: WalContent | undefined): NewestFrames {
  const byPage = (frames: readonly WalFrame[]) => new Map(frames.map((frame) => [frame.page, frame]))
  const { taken = [], left = [] } = wal ?? {}
  return { newest: byPage([...taken, ...left]), taken: byPage(taken), file: new Map() }
}

/** Throws the file system's errors. */
export function openPageImages(file: string): PageImages {
  const wal = readWal(file)
  const frames = [...(wal?.taken ?? []), ...(wal?.left ?? [])]
  const newest = newestFrames(wal)
  const descriptor = openSync(file, 'r')
  const walDescriptor = existsSync(`${file}-wal`) ? openSync(`${file}-wal`, 'r') : undefined
  const pageSize = wal?.pageSize ?? readPageSize(descriptor)
  const { size } = fstatSync(descriptor)
  const page = Buffer.alloc(pageSize)

  const frameImage = ({ offset }: WalFrame, into: Buffer): Buffer | undefined => {
    if (walDescriptor === undefined) return undefined
    readSync(walDescriptor, into, 0, pageSize, offset)
    return into
  }
  const fileImage = (number: number): Buffer | undefined => {
    const offset = (number - 1) * pageSize
    if (number < 1 || offset >= size) return undefined
    // The missing rest of a truncated page reads as zeros.
    page.fill(0)
    readSync(descriptor, page, 0, pageSize, offset)
    return page
  }
  function* filePages(): Generator<PageImage> {
    const chunk = Buffer.alloc(Math.max(chunkBytes, pageSize))
    for (let offset = 0; offset < size; offset += chunk.length) {
      chunk.fill(0)
      const read = readSync(descriptor, chunk, 0, chunk.length, offset)
      for (let start = 0; start < read; start += pageSize) {
        yield { page: (offset + start) / pageSize + 1, image: chunk.subarray(start, start + pageSize) }
      }
    }
  }
  return {
    pageSize,
    bytes: size + (walDescriptor === undefined ? 0 : fstatSync(walDescriptor).size),
    *all() {
      yield* filePages()
      const own = Buffer.alloc(pageSize)
      for (const frame of frames) {
        const image = frameImage(frame, own)
        if (image !== undefined) yield { page: frame.page, image }
      }
    },
    image: (number, version) => {
      const frame = newest[version].get(number)
      return frame === undefined ? fileImage(number) : frameImage(frame, page)
    },
    close: () => {
      closeSync(descriptor)
      if (walDescriptor !== undefined) closeSync(walDescriptor)
    },
  }
}
