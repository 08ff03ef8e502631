import { readSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { crcOf } from '#src/events/codec.ts'
import { positionStep, type Position } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { isCorrupt } from '#src/lib/sqlite-errors.ts'
import { createCutMark } from '../cut.ts'
import { failureOf } from '../failure.ts'
import { applicationId, formatVersion, isLog, pragma, type LogFile } from '../log-file.ts'
import { rowCrc } from '../row.ts'
import { parseFormers } from './formers.ts'
import { withFile } from './raw-file.ts'
import { readWal, type WalContent } from './wal-file.ts'
import { bytesOf, isFile, stateOf } from '../file-stat.ts'
import { magic } from './sqlite-format.ts'

type Epochs = Readonly<{ epoch: string; formers: readonly string[] }>

/**
 * The state of a log before anybody writes to it. `head`, `epoch` and `formers` (formers.ts) are those of a sound log. `reason`: what is
 * damaged. `isOlder`: the only fault is that it ends before events that others have already read from it, as an older copy does.
 */
export type Verdict =
  | Readonly<{ kind: 'absent' | 'new' }>
  | (Readonly<{ kind: 'sound'; head: Position }> & Epochs)
  | Readonly<{ kind: 'damaged'; reason: string; isOlder?: true }>

export type ExamineOptions = LogFile &
  Readonly<{
    /** The installation has been in use, so an empty log has lost its events. */
    isInUse: boolean
    /** How far others have read the log of this epoch; undefined if the log no longer says which epoch it had. */
    knownHead?: (epoch: string | undefined) => Position
    /** Read the whole log. Otherwise check its ends and samples, which takes equally long for any size. */
    isThorough: boolean
  }>

/** A log of another program, version or partition is not damaged: that throws PermanentError. */
class Damage extends Error {}
class Older extends Damage {}
const damage = (reason: string): Damage => new Damage(reason)

/** A WAL that begins anew while it is read looks damaged: what somebody has written to meanwhile is looked at again. */
const attemptsMax = 3
const endRows = 64
const endBytesMax = 16 * 1024 * 1024
const probes = 64
const busyTimeoutMs = 2_000
/** A larger number cannot be a version. */
const versionsMax = 1_000
const fractions = Buffer.from([64, 32, 32])
const partitionName = /^(?:\d{1,4}|directory)$/

/** Throws if pages that the database should have are neither in its file nor in its WAL. */
function checkSize(file: string, wal: WalContent | undefined): void {
  const pages = wal?.taken.findLast(({ pagesAfter }) => pagesAfter > 0)?.pagesAfter
  if (wal === undefined || pages === undefined) return
  const here = Math.floor(bytesOf(file) / wal.pageSize)
  const inWal = new Set(wal.taken.map(({ page }) => page))
  for (let page = here + 1; page <= pages; page++) {
    if (!inWal.has(page)) {
      throw damage(
        `its file ends before page ${page} of ${pages}: it was cut, or another copy of it was put beside this WAL`,
      )
    }
  }
}

/**
 * Checks header fields that SQLite accepts when it opens a file, but would then refuse to write. Skips a file whose creation was
 * interrupted.
 */
function checkHeader(file: string): void {
  if (bytesOf(`${file}-journal`) > 0) return
  const header = Buffer.alloc(100)
  const bytes = withFile(file, (descriptor) => readSync(descriptor, header, 0, header.length, 0)) ?? 0
  if (bytes === 0) return
  const [write, read] = [header[18], header[19]]
  const isWhole = bytes === header.length && header.subarray(0, 16).equals(magic) && write === read
  if (!isWhole || (read !== 1 && read !== 2) || !header.subarray(21, 24).equals(fractions)) {
    throw damage('it does not begin as a database does')
  }
}

/** False if it is empty, as before it is created. */
function checkOwner(database: DatabaseSync, file: string): boolean {
  const owner = pragma(database, 'application_id')
  const version = Number(pragma(database, 'user_version'))
  if (owner === applicationId && version === formatVersion) return true
  const tables = database.prepare('SELECT name FROM sqlite_schema').all()
  if (tables.some(({ name }) => name === 'events')) {
    const isNewer = owner === applicationId && version > formatVersion && version <= versionsMax
    if (!isNewer) throw damage('its header does not say what it is')
  }
  return isLog(database, file)
}

function checkMeta(database: DatabaseSync, { file, partition }: LogFile): Epochs {
  const values = new Map<unknown, unknown>()
  for (const { name, value } of database.prepare('SELECT name, value FROM meta').iterate()) values.set(name, value)
  const [epoch, found] = [values.get('epoch'), values.get('partition')]
  if (typeof epoch !== 'string' || epoch === '') throw damage('its epoch is missing')
  if (typeof found !== 'string' || !partitionName.test(found)) throw damage('the name of its partition is missing')
  if (found !== partition) {
    const hint = `it holds partition ${found}, not ${partition}`
    throw new PermanentError({ operation: 'open log', subject: file, hint })
  }
  return { epoch, formers: parseFormers(values.get('formers')) }
}

type Row = Record<string, unknown>

function checkRow(row: Row | undefined, seq: number, withPayload: boolean): void {
  const fault = (what: string): Damage => damage(`event ${seq}: ${what}`)
  if (row?.['seq'] !== seq) throw fault('it is missing')
  const { crc, header, payload } = row
  if (typeof header !== 'string' || crc !== rowCrc(seq, header)) throw fault('its header does not match its checksum')
  if (header === '' || !withPayload) return
  const said = (JSON.parse(header) as Readonly<{ crc?: unknown }>).crc
  if (!(payload instanceof Uint8Array) || crcOf(payload) !== said)
    throw fault('its payload does not match its checksum')
}

/** Checks the newest events and samples of the rest. Returns the newest sequence and the last one that was cut. */
function checkSome(database: DatabaseSync): Readonly<{ head: number; cut: number }> {
  const cut = createCutMark(database)()
  const newest = database.prepare('SELECT seq, crc, header, payload FROM events ORDER BY seq DESC LIMIT ?')
  let head: number | undefined
  let expected = 0
  let bytes = 0
  for (const row of newest.iterate(endRows)) {
    if (head === undefined) head = expected = Number(row['seq'])
    if (expected <= cut) break
    checkRow(row, expected, true)
    expected--
    bytes += row['payload'] instanceof Uint8Array ? row['payload'].length : 0
    if (bytes > endBytesMax) break
  }
  if (head === undefined) {
    if (cut > 0) throw damage('nothing is in it, and its beginning was cut off')
    return { head: 0, cut }
  }
  if (cut >= head) throw damage(`it ends at event ${head}, before what was cut off`)
  const probe = database.prepare('SELECT seq, crc, header FROM events WHERE seq = ?')
  for (let index = 0; index <= probes; index++) {
    const seq = cut + 1 + Math.floor(((head - cut - 1) * index) / probes)
    checkRow(probe.get(seq), seq, false)
  }
  for (const order of ['ASC', 'DESC']) {
    database.prepare(`SELECT seq FROM ids ORDER BY bucket ${order}, hash ${order}, seq ${order} LIMIT 1`).get()
    database.prepare(`SELECT seq FROM events WHERE subject IS NOT NULL ORDER BY subject ${order} LIMIT 1`).get()
  }
  return { head, cut }
}

function checkAll(database: DatabaseSync, { head, cut }: Readonly<{ head: number; cut: number }>): void {
  const [first] = database.prepare('PRAGMA integrity_check(1)').all()
  const said = String(first?.['integrity_check'])
  if (said !== 'ok') throw damage(said.replaceAll('\n', ' '))
  let next = cut
  for (const row of database
    .prepare('SELECT seq, crc, header, payload FROM events WHERE seq > ? ORDER BY seq')
    .iterate(cut)) {
    checkRow(row, ++next, true)
  }
  if (next !== head) throw damage(`event ${next + 1}: it is missing`)
}

function checkTables(database: DatabaseSync, options: ExamineOptions): Readonly<{ head: Position }> & Epochs {
  const epochs = checkMeta(database, options)
  // Read first, because somebody may write to the log meanwhile.
  const known = Math.floor((options.knownHead?.(epochs.epoch) ?? 0) / positionStep)
  // All else is of one moment: a log that goes on would not end where it ended before.
  database.exec('BEGIN')
  const some = checkSome(database)
  if (options.isThorough) checkAll(database, some)
  if (some.head < known) throw new Older(`it ends at event ${some.head}, and event ${known} was in it`)
  return { head: some.head * positionStep, ...epochs }
}

/**
 * Changes nothing in the files if nobody else has them open. A connection that may write would move the WAL into the database when it
 * closes.
 */
function openToLook(file: string, hasWal: boolean): DatabaseSync {
  const location = pathToFileURL(resolve(file))
  location.searchParams.set('mode', hasWal ? 'ro' : 'rw')
  const database = new DatabaseSync(location, { timeout: busyTimeoutMs, readOnly: hasWal })
  if (!hasWal) database.exec('PRAGMA query_only = 1')
  return database
}

function look(options: ExamineOptions): Verdict {
  const { file, isInUse } = options
  const wal = readWal(file)
  if (wal?.damage !== undefined) throw damage(wal.damage)
  checkSize(file, wal)
  if (bytesOf(file) === 0 && wal === undefined) return emptyOf(isInUse)
  checkHeader(file)
  const database = openToLook(file, bytesOf(`${file}-wal`) > 0)
  try {
    if (!checkOwner(database, file)) return emptyOf(isInUse)
    return { kind: 'sound', ...checkTables(database, options) }
  } finally {
    database.close()
  }
}

function emptyOf(isInUse: boolean): Verdict {
  if (isInUse) throw damage('nothing is in it')
  return { kind: 'new' }
}

/** SQLite's errors about altered tables and unreadable values are damage too. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof Damage || isCorrupt(error)) return (error as Error).message
  const { errcode, code } = error as Readonly<{ errcode?: number; code?: string }>
  if (error instanceof SyntaxError || errcode === 1 || code === 'ERR_OUT_OF_RANGE') return (error as Error).message
  return undefined
}

/**
 * Says whether a log can be read. Everything that is not damage is thrown: PermanentError for a newer version, another program or
 * partition, and for failing disks or permissions; TransientError if somebody is writing to it.
 */
export function examine(options: ExamineOptions): Verdict {
  if (!isFile(options.file)) return { kind: 'absent' }
  for (let attempt = 1; ; attempt++) {
    const before = stateOf(options.file)
    const verdict = verdictOn(options)
    if (verdict.kind !== 'damaged' || attempt === attemptsMax || stateOf(options.file) === before) return verdict
  }
}

function verdictOn(options: ExamineOptions): Verdict {
  try {
    return look(options)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw failureOf(error, 'look at log', options.file)
    return { kind: 'damaged', reason, ...(error instanceof Older ? { isOlder: true } : {}) }
  }
}
