import { readFileSync } from 'node:fs'

/**
 * How many transactions the WAL beside a database holds: frames that end one carry the database's size. Only frames with the
 * salt of the header are of this round. Source: SQLite, "WAL-mode File Format".
 */
export function commitsInWal(file: string): number {
  const wal = readFileSync(`${file}-wal`)
  const pageSize = wal.readUInt32BE(8)
  const salt = wal.subarray(16, 24)
  let commits = 0
  for (let at = 32; at + 24 + pageSize <= wal.length; at += 24 + pageSize) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    if (wal.readUInt32BE(at + 4) !== 0) commits++
  }
  return commits
}
