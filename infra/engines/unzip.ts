import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { inflateRawSync } from 'node:zlib'

// APPNOTE.TXT of PKWARE, sections 4.3.7 (local header), 4.3.12 (central directory) and 4.3.16 (its end). No ZIP64, no encryption.
const endSignature = 0x06054b50
const endBytes = 22
const entrySignature = 0x02014b50
const deflated = 8

/** Unpacks an archive into a folder, with the permissions of its files. For archives whose digest is known: it trusts their sizes. */
export function unzip(archive: string, folder: string): void {
  const bytes = readFileSync(archive)
  let end = bytes.length - endBytes
  while (end >= 0 && bytes.readUInt32LE(end) !== endSignature) end--
  if (end < 0) throw new Error(`${archive} is no ZIP archive`)
  let at = bytes.readUInt32LE(end + 16)
  for (let entries = bytes.readUInt16LE(end + 10); entries > 0; entries--) {
    if (bytes.readUInt32LE(at) !== entrySignature) throw new Error(`${archive} is damaged`)
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28)
    unpack(bytes, at, normalize(bytes.toString('utf8', at + 46, nameEnd)), folder)
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
}

/** `at`: where the entry stands in the central directory, which alone surely knows the sizes. */
function unpack(bytes: Buffer, at: number, name: string, folder: string): void {
  if (name.startsWith('..') || name.startsWith('/')) throw new Error(`the archive wants to write to ${name}`)
  const file = join(folder, name)
  if (name.endsWith('/')) {
    mkdirSync(file, { recursive: true })
    return
  }
  mkdirSync(dirname(file), { recursive: true })
  const local = bytes.readUInt32LE(at + 42)
  const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
  const packed = bytes.subarray(start, start + bytes.readUInt32LE(at + 20))
  writeFileSync(file, bytes.readUInt16LE(at + 10) === deflated ? inflateRawSync(packed) : packed)
  const mode = (bytes.readUInt32LE(at + 38) >>> 16) & 0o777
  if (mode !== 0) chmodSync(file, mode)
}
