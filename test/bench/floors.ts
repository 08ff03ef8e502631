import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { constants, crc32, gunzipSync, zstdCompressSync } from 'node:zlib'
import { limits } from '#src/config.ts'
import { scanSpans } from '#src/wire/otlp/scan.ts'
import { bodyCount, openBodies, type Bodies } from './bodies.ts'
import { nextMessage, startProgram, type Driver } from './drive.ts'
import { forgetPeak, peakBytes, readUsage, usedBetween } from './process-usage.ts'
import type { DriverAnswer } from './driver-task.ts'

/** CPU seconds and bytes per record. */
export type Least = Readonly<{ cpuPerMillion: number; bytesPerRecord: number; perSecond: number }>

/** A stopwatch for what this process does between `start` and `stop`, which may come often. */
export function createStopwatch() {
  let [cpuMicros, millis, begun] = [0, 0, 0]
  let before = process.cpuUsage()
  return {
    time<T>(work: () => T): T {
      before = process.cpuUsage()
      begun = performance.now()
      const result = work()
      millis += performance.now() - begun
      const { user, system } = process.cpuUsage(before)
      cpuMicros += user + system
      return result
    },
    least: (records: number, bytes: number): Least => ({
      cpuPerMillion: cpuMicros / records,
      bytesPerRecord: bytes / records,
      perSecond: (records * 1_000) / millis,
    }),
  }
}

const isGzip = ({ headers }: Bodies): boolean => headers['content-encoding'] === 'gzip'
const decode = (bodies: Bodies, body: Buffer): Buffer => (isGzip(bodies) ? gunzipSync(body) : body)

function eachBody(bodies: Bodies, take: (body: Buffer) => void): void {
  const reader = openBodies(bodies)
  for (let index = 0; index < bodyCount(bodies); index++) take(reader.read(index))
  reader.close()
}

/** gunzip (of gzipped bodies) and CRC-32 of what is in them, in this process. */
export function floorOfReading(bodies: Bodies): Least {
  const watch = createStopwatch()
  eachBody(bodies, (body) => watch.time(() => crc32(decode(bodies, body))))
  return watch.least(bodies.records, bodies.rawBytes)
}

/** gunzip, and the check of every field and id that the edge makes, in this process. Of traces. */
export function floorOfScanning(bodies: Bodies): Least {
  const watch = createStopwatch()
  eachBody(bodies, (body) => watch.time(() => scanSpans(decode(bodies, body), 'application/x-protobuf', limits)))
  return watch.least(bodies.records, bodies.rawBytes)
}

const pack = (bytes: Uint8Array): Buffer =>
  zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })

/** As the log keeps them: gzip as it was sent, everything else as zstd, level 1. */
const stored = (bodies: Bodies, body: Buffer): Buffer => (isGzip(bodies) ? body : pack(body))
export const storedForm = (bodies: Bodies): string => (isGzip(bodies) ? 'gzip as sent' : 'zstd level 1')

/** Packing the payloads as the log keeps them. */
export function floorOfPacking(bodies: Bodies): Least {
  const watch = createStopwatch()
  let bytes = 0
  eachBody(bodies, (body) => {
    bytes += watch.time(() => stored(bodies, body)).length
  })
  return watch.least(bodies.records, bytes)
}

/** Payloads of one `groupSize` each in a transaction of a WAL database with synchronous=FULL, nothing beside them. */
export function floorOfStoring(bodies: Bodies, groupSize: number): Least {
  const folder = mkdtempSync(join(tmpdir(), 'throughline-floor-'))
  const database = new DatabaseSync(join(folder, 'log.db'))
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec('CREATE TABLE log (seq INTEGER PRIMARY KEY, payload BLOB NOT NULL)')
  const insert = database.prepare('INSERT INTO log (payload) VALUES (?)')
  const watch = createStopwatch()
  let bytes = 0
  let group: Buffer[] = []
  const commit = (): void => {
    database.exec('BEGIN IMMEDIATE')
    for (const payload of group) insert.run(payload)
    database.exec('COMMIT')
  }
  eachBody(bodies, (body) => {
    const payload = stored(bodies, body)
    bytes += payload.length
    if (group.push(payload) < groupSize) return
    watch.time(commit)
    group = []
  })
  watch.time(commit)
  database.close()
  rmSync(folder, { recursive: true })
  return watch.least(bodies.records, bytes)
}

export type BareAnswer = Readonly<{ answer: DriverAnswer; cpuPerMillion: number; peakBytes: number }>

/** A bare HTTP server in a process of its own. */
export type BareServer = Readonly<{
  post(driver: Driver, load: Readonly<{ bodies: Bodies; warmUp: Bodies; connections: number }>): Promise<BareAnswer>
  get(driver: Driver, requests: number): Promise<DriverAnswer>
  stop(): void
}>

export async function startBareServer(): Promise<BareServer> {
  const program = startProgram('bare-server.ts')
  const url = `http://127.0.0.1:${await nextMessage<number>(program)}/`
  const pid = program.pid ?? 0
  return {
    async post(driver, { bodies, warmUp, connections }) {
      const send = ({ file, offsets, headers }: Bodies): Promise<DriverAnswer> => {
        const to = offsets.length - 1
        return driver.run({ kind: 'load', url, keys: ['none'], headers, file, offsets, connections, from: 0, to })
      }
      await send(warmUp)
      forgetPeak(pid)
      const before = readUsage(pid)
      const answer = await send(bodies)
      const cpu = usedBetween(before, readUsage(pid))
      const seconds = cpu.ingest + cpu.runtime
      return { answer, cpuPerMillion: (seconds * 1e6) / bodies.records, peakBytes: peakBytes(pid) }
    },
    get: (driver, requests) => driver.run({ kind: 'query', url, cookie: 'none=0', paths: ['/'], rounds: requests }),
    stop: () => void program.kill(),
  }
}
