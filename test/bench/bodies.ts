import { closeSync, openSync, readSync, writeSync } from 'node:fs'

/** Request bodies in one file, one after the other: made before the clock starts, read by any process. */
export type Bodies = Readonly<{
  file: string
  /** Where each body begins, and where the last one ends. */
  offsets: Float64Array
  headers: Readonly<Record<string, string>>
  /** Records in all bodies, and in each but perhaps the last. */
  records: number
  perBody: number
  /** Bytes of all bodies before compression. */
  rawBytes: number
}>

export const bodyCount = ({ offsets }: Bodies): number => offsets.length - 1

type BodyReader = Readonly<{ read(index: number): Buffer; close(): void }>

export function openBodies({ file, offsets }: Pick<Bodies, 'file' | 'offsets'>): BodyReader {
  const handle = openSync(file, 'r')
  return {
    read(index) {
      const start = offsets[index] ?? 0
      const body = Buffer.allocUnsafe((offsets[index + 1] ?? start) - start)
      readSync(handle, body, 0, body.length, start)
      return body
    },
    close: () => closeSync(handle),
  }
}

export type MadeBody = Readonly<{ body: Uint8Array; records: number; rawBytes: number }>

/** Writes bodies as they are made. */
export function writeBodies(file: string, headers: Readonly<Record<string, string>>, made: Iterable<MadeBody>): Bodies {
  const handle = openSync(file, 'w')
  const offsets = [0]
  let [records, rawBytes, perBody, end] = [0, 0, 0, 0]
  for (const { body, ...of } of made) {
    writeSync(handle, body)
    offsets.push((end += body.length))
    perBody ||= of.records
    records += of.records
    rawBytes += of.rawBytes
  }
  closeSync(handle)
  return { file, offsets: Float64Array.from(offsets), headers, records, perBody, rawBytes }
}
