import { crc32 } from 'node:zlib'
import { rowCrc } from '../row.ts'
import { varint } from './sqlite-format.ts'
import { versions, type PageImage, type PageImages, type Version } from './page-images.ts'

/** An event's row as it was written, proven by its checksums. An empty header means it was erased. */
export type FoundRow = Readonly<{
  seq: number
  crc: number
  subject: string | null
  header: string
  payload: Uint8Array
  /** When it was received, in ms; 0 if it was erased. */
  receivedAt: number
  id: string
}>

const tableLeaf = 0x0d
/** Five varints, and how many bytes they take. */
const recordHeaderBytesMax = 64

const integerBytes = [0, 1, 2, 3, 4, 6, 8]
/** The length of a column's value, by its serial type ("Database File Format", 2.1). */
const bytesOf = (type: number): number => (type < 12 ? (integerBytes[type] ?? 0) : Math.floor((type - 12) / 2))
const isText = (type: number): boolean => type >= 13 && type % 2 === 1
const isBlob = (type: number): boolean => type >= 12 && type % 2 === 0

type Shape = Readonly<{ types: readonly number[]; begin: number }>

const isNull = (type: number): boolean => type === 0
/** The serial types that `seq`, `crc`, `subject`, `header` and `payload` may have. The sequence is the rowid. */
const columnTypes: readonly ((type: number) => boolean)[] = [
  isNull,
  (type) => type < 10,
  (type) => isNull(type) || isText(type),
  isText,
  isBlob,
]

function readTypes(record: Buffer, from: number, to: number): readonly number[] | undefined {
  const types: number[] = []
  let at = from
  while (at < to && types.length < columnTypes.length) {
    const type = varint(record, at)
    if (type === undefined) return undefined
    types.push(type[0])
    at = type[1]
  }
  return at === to ? types : undefined
}

/** The columns a record declares, if they are those of an event and fill the record. */
function shapeOf(record: Buffer, bytes: number): Shape | undefined {
  const size = varint(record, 0)
  if (size === undefined || size[0] > recordHeaderBytesMax) return undefined
  const types = readTypes(record, size[1], size[0])
  if (types === undefined || types.length !== columnTypes.length) return undefined
  if (types.reduce((sum, type) => sum + bytesOf(type), size[0]) !== bytes) return undefined
  return columnTypes.every((fits, column) => fits(types[column] ?? -1)) ? { types, begin: size[0] } : undefined
}

function readCrc(record: Buffer, at: number, type: number): number {
  if (type === 8 || type === 9) return type - 8
  const bytes = bytesOf(type)
  return bytes === 0 || bytes > 6 ? -1 : record.readUIntBE(at, bytes)
}

type Said = Readonly<{ id: string; subject: string | null; receivedAt: number; crc: number }>

/** The content of a header; undefined if it is not one. Its checksum has been verified. */
function headerSays(header: string): Said | undefined {
  try {
    const { id, subject = null, receivedAt, crc } = JSON.parse(header) as Partial<Said>
    if (typeof id !== 'string' || typeof receivedAt !== 'number' || typeof crc !== 'number') return undefined
    return { id, subject, receivedAt, crc }
  } catch {
    return undefined
  }
}

function rowIn(record: Buffer, seq: number, { types, begin }: Shape): FoundRow | undefined {
  const [, crcType = 0, subjectType = 0, headerType = 0] = types
  const headerAt = begin + bytesOf(crcType) + bytesOf(subjectType)
  const payloadAt = headerAt + bytesOf(headerType)
  const crc = readCrc(record, begin, crcType)
  const header = record.toString('utf8', headerAt, payloadAt)
  if (crc !== rowCrc(seq, header)) return undefined
  const payload = record.subarray(payloadAt)
  if (header === '') {
    return payload.length > 0 ? undefined : { seq, crc, subject: null, header, payload, receivedAt: 0, id: '' }
  }
  const said = headerSays(header)
  if (said === undefined || crc32(payload) !== said.crc) return undefined
  return { seq, crc, subject: said.subject, header, payload, receivedAt: said.receivedAt, id: said.id }
}

/** How much of a record is in its own page. The rest is in a chain of overflow pages ("Database File Format", 1.6). */
function bytesInPage(bytes: number, pageSize: number): number {
  const most = pageSize - 35
  if (bytes <= most) return bytes
  const least = Math.floor(((pageSize - 12) * 32) / 255) - 23
  const wanted = least + ((bytes - least) % (pageSize - 4))
  return wanted <= most ? wanted : least
}

/** A record of so many bytes, as far as its own page holds it; `next`: the page that it goes on in. */
type Begun = Readonly<{ begin: Buffer; bytes: number; next: number }>

/** The whole record, collected along its overflow chain; undefined if the chain is broken. */
function gather(images: PageImages, { begin, bytes, next }: Begun, version: Version): Buffer | undefined {
  const record = Buffer.alloc(bytes)
  begin.copy(record)
  let page = next
  for (let at = begin.length; at < bytes; at += images.pageSize - 4) {
    const image = images.image(page, version)
    if (image === undefined) return undefined
    image.copy(record, at, 4, Math.min(images.pageSize, 4 + bytes - at))
    page = image.readUInt32BE(0)
  }
  return record
}

function rowAt(images: PageImages, image: Buffer, at: number): FoundRow | undefined {
  const size = varint(image, at)
  const rowid = size && varint(image, size[1])
  if (size === undefined || rowid === undefined || size[0] > images.bytes) return undefined
  const [bytes] = size
  const [seq, from] = rowid
  const here = bytesInPage(bytes, images.pageSize)
  const begin = image.subarray(from, from + here)
  const shape = begin.length === here ? shapeOf(begin, bytes) : undefined
  if (shape === undefined) return undefined
  if (here === bytes) return rowIn(begin, seq, shape)
  const end = from + here
  if (end + 4 > image.length) return undefined
  return rowBeyond(images, { begin, bytes, next: image.readUInt32BE(end) }, seq, shape)
}

/** A row with overflow pages. Several images of them may exist: the checksums tell which belong to the row. */
function rowBeyond(images: PageImages, begun: Begun, seq: number, shape: Shape): FoundRow | undefined {
  for (const version of versions) {
    const record = gather(images, begun, version)
    const row = record && rowIn(record, seq, shape)
    if (row !== undefined) return row
  }
  return undefined
}

/** The rows in a page image whose checksums match, whichever table the page belongs to. Valid until the next image is read. */
export function* rowsIn(images: PageImages, { page, image }: PageImage): Generator<FoundRow> {
  if (page === 1 || image[0] !== tableLeaf) return
  const cells = Math.min(image.readUInt16BE(3), Math.floor((image.length - 8) / 2))
  for (let cell = 0; cell < cells; cell++) {
    const at = image.readUInt16BE(8 + 2 * cell)
    const row = at < 8 ? undefined : rowAt(images, image, at)
    if (row !== undefined) yield row
  }
}
