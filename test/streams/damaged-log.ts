import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '#src/config.ts'
import { formatHeader } from '#src/events/codec.ts'
import type { RecordedEvent } from '#src/events/envelope.ts'
import { mendLog, type Mended, type MendOptions } from '#streams/sqlite/mending/mend.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeLogFolder } from '../support/log-folder.ts'
import { makeEvents } from '../support/make-event.ts'
import { readAll } from '../support/read-all.ts'

export const pageBytes = 4_096
const walHeaderBytes = 32
const frameBytes = 24 + pageBytes

/** A log of thirty calls, four events each. */
export async function fillSmall(stream: Stream): Promise<void> {
  for (let call = 0; call < 30; call++) await stream.append(makeEvents(4, `call-${call}`))
}

export const openLog = (file: string): Promise<Stream> =>
  createSqliteStream({ file, partition: '0', thread: false, limits })

/** What a log holds, as a server finds it that opens it. */
export async function contentOf(file: string): Promise<readonly string[]> {
  const stream = await openLog(file)
  const ids = (await readAll(stream)).map(({ id, position }) => `${position} ${id}`)
  await stream.close()
  return ids
}

/** The files of a log as a server left them; `wal`: empty after a clean stop. */
export type Files = Readonly<{ db: Buffer; wal: Buffer }>
export type Sample = Files & Readonly<{ events: readonly RecordedEvent[]; epoch: string }>

/** A log that was filled in a folder of its own, and its files, taken after a stop or, as a kill leaves them, before. */
export async function sampleOf(
  fill: (stream: Stream) => Promise<void>,
  { isKilled, checkpointBytes = 100_000 }: Readonly<{ isKilled: boolean; checkpointBytes?: number }>,
): Promise<Sample> {
  const log = await makeLogFolder()
  const stream = await log.open({ checkpointBytes })
  await fill(stream)
  const events = await readAll(stream)
  const { epoch } = stream
  if (!isKilled) await stream.close()
  const wal = existsSync(`${log.file}-wal`) ? readFileSync(`${log.file}-wal`) : Buffer.alloc(0)
  const sample = { db: readFileSync(log.file), wal, events, epoch }
  await stream.close()
  await log.remove()
  return sample
}

/** A folder with these files in it, as a start finds them. */
export async function openDamaged({ db, wal }: Files) {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-damaged-'))
  const file = join(folder, 'log.db')
  writeFileSync(file, db)
  if (wal.length > 0) writeFileSync(`${file}-wal`, wal)
  const quarantine = join(folder, 'quarantine')
  return {
    folder,
    file,
    quarantine,
    /** As somebody who has met damage does. */
    suspect: () => writeFileSync(`${file}.suspect`, 'a test says so\n'),
    mend: (options: Partial<MendOptions> = {}): Promise<Mended> =>
      mendLog({
        file,
        partition: '0',
        name: 'log',
        quarantine,
        clock: () => 1_795_240_000_000,
        isInUse: true,
        ...options,
      }),
    /** Damages it, once more, in the middle of its file. */
    spoil: () => writeFileSync(file, readFileSync(file).fill(0, 4 * pageBytes, 6 * pageBytes)),
    copyTo: (other: string) => copyFileSync(file, other),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
export type DamagedLog = Awaited<ReturnType<typeof openDamaged>>

/** A page of the database’s file or a frame of its WAL: where it is, and which events stand in it as a whole or in part. */
type Unit = Readonly<{ of: 'db' | 'wal'; from: number; to: number; isCommit: boolean; image: Buffer }>

function unitsOf({ db, wal }: Files): readonly Unit[] {
  const units: Unit[] = []
  for (let from = 0; from < db.length; from += pageBytes) {
    const to = from + pageBytes
    units.push({ of: 'db', from, to, isCommit: false, image: db.subarray(from, to) })
  }
  const salt = wal.subarray(16, 24)
  for (let from = walHeaderBytes; from + frameBytes <= wal.length; from += frameBytes) {
    const frame = wal.subarray(from, from + frameBytes)
    if (!salt.equals(frame.subarray(8, 16))) break
    const isCommit = frame.readUInt32BE(4) > 0
    units.push({ of: 'wal', from, to: from + frameBytes, isCommit, image: frame.subarray(24) })
  }
  return units
}

/** What an event’s pages hold of it, cut small enough to stand in one page each. */
function piecesOf(event: RecordedEvent): readonly Buffer[] {
  const header = Buffer.from(formatHeader(event))
  const whole = Buffer.concat([header, event.payload])
  if (whole.length < 2_000) return [whole]
  const pieces = [header]
  for (let at = 0; at < event.payload.length; at += 500) pieces.push(Buffer.from(event.payload.subarray(at, at + 24)))
  return pieces
}

/** Which events a damage cannot have reached. `isWhole`: whether these bytes of a file are as they were. */
export function createOracle(sample: Sample) {
  const units = unitsOf(sample)
  const places = sample.events.map((event) => {
    const pieces = piecesOf(event)
    return {
      event,
      isSmall: pieces.length === 1,
      units: units.filter(({ image }) => pieces.some((piece) => image.includes(piece))),
    }
  })
  return (isWhole: (of: Unit['of'], from: number, to: number) => boolean): readonly RecordedEvent[] => {
    const whole = new Set(units.filter(({ of, from, to }) => isWhole(of, from, to)))
    const inWal = units.filter(({ of }) => of === 'wal')
    // Frames behind the last one that ends a transaction nobody was told of.
    const last = inWal.findLastIndex((unit) => unit.isCommit && whole.has(unit))
    for (const unit of inWal.slice(last + 1)) whole.delete(unit)
    return places
      .filter(({ isSmall, units }) =>
        isSmall ? units.some((unit) => whole.has(unit)) : units.every((unit) => whole.has(unit)),
      )
      .map(({ event }) => event)
  }
}
