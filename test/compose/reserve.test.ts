import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock } from 'node:test'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { lockData } from '#src/compose/processes/lock-data.ts'
import {
  createRoomCheck,
  createSettling,
  fullDisksOf,
  giveUpReserve,
  keepReserve,
  tellMissingRoom,
  type RoomUse,
} from '#src/compose/reserve.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { rejection } from '../support/read-all.ts'

// A disk is full where less is free than a server wants to have: here, more than any disk holds.
const reserveBytes = 65_536
const roomy = { reserveBytes, reserveFreeBytesMin: 0 }
const full = { reserveBytes, reserveFreeBytesMin: Number.MAX_SAFE_INTEGER }
const fuller = { ...full, reserveBytes: Number.MAX_SAFE_INTEGER }

describe('the room that a data folder keeps on its disk', () => {
  let folder: string
  let file: string
  let told: string[]
  const tell = (line: string): void => void told.push(line)
  const size = (): number | undefined => statSync(file, { throwIfNoEntry: false })?.size
  const check = (use: RoomUse, bounds: Parameters<typeof createRoomCheck>[2] = roomy) =>
    createRoomCheck(folder, use, bounds, () => 0)
  const settleReserve = (...given: Parameters<typeof createSettling>): Promise<void> => createSettling(...given)()

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'throughline-reserve-'))
    file = join(folder, 'reserve')
    told = []
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('is one file, whatever else lies on that disk, and is made without a word', async () => {
    for (const name of ['log', 'index']) mkdirSync(join(folder, name))
    await settleReserve(folder, roomy, tell)
    await settleReserve(folder, roomy, tell)
    expect([size(), told]).to.deep.equal([reserveBytes, []])
    expect(readdirSync(folder, { recursive: true })).to.have.members(['index', 'log', 'reserve'])
    expect(gzipSync(readFileSync(file)).length, 'no disk stores it in less').to.be.at.least(reserveBytes)
    check('accepted')()
  })

  it('is given up where the disk is full, once, and kept again where there is room; meanwhile nothing is accepted or folded', async () => {
    mkdirSync(join(folder, 'index'))
    await settleReserve(folder, roomy, tell)
    const checks = [check('accepted'), check('folded')]
    await giveUpReserve(folder, full, tell)
    await settleReserve(folder, fuller, tell)
    expect(size()).to.equal(0)
    expect(told).to.have.length(1)
    expect(told[0]).to.include(`the disk of ${folder} is full: ${file} is given up`)
    expect(told[0]).to.include('No telemetry is accepted or folded until')
    expect(told[0]).to.match(/: remove something beside it, or throughline drop BUILD$/)
    expect(fullDisksOf(folder)).to.deep.equal([{ folder, not: 'accepted or folded' }])
    for (const use of ['accepted', 'folded'] as const)
      expect(check(use)).to.throw(TransientError, `write to ${folder} (its disk is full: free some space)`)
    for (const each of checks) expect(each).to.throw(TransientError)

    await settleReserve(folder, roomy, tell)
    expect(size()).to.equal(reserveBytes)
    expect(told.slice(1)).to.deep.equal([`the disk of ${folder} has room again: telemetry is accepted and folded`])
    expect(fullDisksOf(folder)).to.deep.equal([])
    check('accepted')()
  })

  it('is kept again where twice as much is free, and no sooner', async () => {
    await settleReserve(folder, roomy, tell)
    await giveUpReserve(folder, full, tell)
    expect(told[0]).to.include('which leaves 64 KiB for').and.include('until 128 KiB are free')
    for (const [left, kept] of [
      [2 * reserveBytes - 1, 0],
      [2 * reserveBytes, reserveBytes],
    ] as const) {
      await settleReserve(folder, { ...roomy, bytesLeft: () => left }, tell)
      expect(size()).to.equal(kept)
    }
  })

  it('is of each disk on its own: that of the log keeps senders waiting, and nobody else', async function () {
    const shared = '/dev/shm'
    const other = statSync(shared, { throwIfNoEntry: false })
    if (other === undefined || other.dev === statSync(folder).dev) this.skip()
    const elsewhere = mkdtempSync(join(shared, 'throughline-reserve-'))
    try {
      mkdirSync(join(folder, 'index'))
      symlinkSync(elsewhere, join(folder, 'log'))
      await settleReserve(folder, roomy, tell)
      expect([size(), readdirSync(elsewhere)]).to.deep.equal([reserveBytes, ['reserve']])
      truncateSync(join(elsewhere, 'reserve'))
      expect(fullDisksOf(folder)).to.deep.equal([{ folder: join(folder, 'log'), not: 'accepted' }])
      expect(check('accepted')).to.throw(TransientError, `write to ${join(folder, 'log')} (`)
      for (const use of ['folded', 'compared'] as const) check(use)()
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  })

  it('is told with no remedy that gives no room: builds lie on another disk than this one', async () => {
    await settleReserve(folder, roomy, tell)
    await giveUpReserve(folder, full, tell)
    expect(told.join()).to.match(/No telemetry is accepted until \d+ KiB are free: remove something beside it$/)
  })

  it('is given up while a server runs once those who write have seen that the disk is full, who would take it at once', async () => {
    mkdirSync(join(folder, 'index'))
    await settleReserve(folder, roomy, tell)
    let now = 0
    const isAccepted = createRoomCheck(folder, 'accepted', full, () => now)
    const settle = createSettling(folder, fuller, tell)
    await settle()
    expect([size(), told]).to.deep.equal([reserveBytes, []])
    for (const use of ['accepted', 'folded'] as const) expect(check(use, full)).to.throw(TransientError)
    expect(isAccepted).to.throw(TransientError)
    now = 600
    await settle()
    expect([size(), told.length]).to.deep.equal([0, 1])
    expect(isAccepted).to.throw(TransientError)
  })

  it('is believed for a moment to be there, and to be missing until it would have been given up', async () => {
    let now = 0
    const bounds = { ...roomy }
    await settleReserve(folder, bounds, tell)
    const isAccepted = createRoomCheck(folder, 'accepted', bounds, () => now)
    isAccepted()
    bounds.reserveFreeBytesMin = full.reserveFreeBytesMin
    now = 199
    isAccepted()
    now = 200
    expect(isAccepted).to.throw(TransientError)
    bounds.reserveFreeBytesMin = 0
    now = 1_699
    expect(isAccepted).to.throw(TransientError)
    now = 1_700
    isAccepted()
  })

  it('is looked after twice a second, one look after the other, until that is ended', async () => {
    let looks = 0
    const bounds = { ...roomy, bytesLeft: () => (looks++, Number.MAX_SAFE_INTEGER) }
    mock.timers.enable({ apis: ['setInterval'] })
    try {
      let keptAgain = Promise.withResolvers<string>()
      const end = await keepReserve(folder, bounds, (line) => keptAgain.resolve(line))
      expect(size(), 'at once').to.equal(reserveBytes)
      for (let times = 0; times < 2; times++) {
        keptAgain = Promise.withResolvers()
        truncateSync(file)
        looks = 0
        mock.timers.tick(500)
        // The look before is not over yet.
        mock.timers.tick(500)
        expect(await keptAgain.promise).to.match(/ has room again: /)
        expect([size(), looks]).to.deep.equal([reserveBytes, 1])
        // Until what was told of has ended.
        await new Promise((over) => setImmediate(over))
      }
      end()
      truncateSync(file)
      mock.timers.tick(10_000)
      await new Promise((over) => setImmediate(over))
      expect(looks).to.equal(1)
    } finally {
      mock.timers.reset()
    }
  })

  it('stays where a disk was full for a moment', async () => {
    await settleReserve(folder, roomy, tell)
    const bounds = { ...full }
    const settle = createSettling(folder, bounds, tell)
    for (const reserveFreeBytesMin of [full.reserveFreeBytesMin, 0, full.reserveFreeBytesMin]) {
      bounds.reserveFreeBytesMin = reserveFreeBytesMin
      await settle()
    }
    expect([size(), told]).to.deep.equal([reserveBytes, []])
  })

  it('is neither needed nor made on a disk that does not say what it has, and one that was copied there keeps nobody from anything', async () => {
    const silent = { ...full, bytesLeft: () => undefined }
    await settleReserve(folder, silent, tell)
    expect(size()).to.equal(undefined)
    writeFileSync(file, 'room')
    await giveUpReserve(folder, silent, tell)
    await settleReserve(folder, silent, tell)
    expect(size()).to.equal(4)
    check('accepted', silent)()
    truncateSync(file)
    check('accepted', silent)()
    await settleReserve(folder, silent, tell)
    expect([size(), told]).to.deep.equal([undefined, []])
    tellMissingRoom(folder, silent, tell)
    expect(told).to.deep.equal([])
  })

  it('is not there on a disk that never had it: that keeps nobody from anything, nor does what somebody has removed', async () => {
    await settleReserve(folder, fuller, tell)
    expect([size(), told]).to.deep.equal([undefined, []])
    check('accepted', full)()
    await settleReserve(folder, roomy, tell)
    rmSync(file)
    await settleReserve(folder, fuller, tell)
    check('accepted')()
  })

  it('has its name only once it is whole; what a killed server has left of one gives its room back too', async () => {
    await settleReserve(folder, roomy, tell)
    writeFileSync(`${file}.new`, 'half of it')
    await giveUpReserve(folder, full, tell)
    expect(readdirSync(folder)).to.deep.equal(['reserve'])
    writeFileSync(`${file}.new`, 'half of one that was to be kept again')
    await giveUpReserve(folder, full, tell)
    expect(readdirSync(folder)).to.deep.equal(['reserve'])
    mkdirSync(`${file}.new`)
    const settle = createSettling(folder, roomy, tell)
    await settle()
    expect(size(), 'it could not be made').to.equal(0)
    expect(check('folded'), 'of a disk without an index').not.to.throw()
    expect(check('accepted')).to.throw(TransientError)
    rmdirSync(`${file}.new`)
    await settle()
    expect(size(), 'there is no want of room to wait for').to.equal(reserveBytes)
  })

  it('is not tried again at once where it did not fit after all, as in a quota: it would take what others can', async () => {
    if (!existsSync('/dev/full')) return
    const settle = createSettling(folder, roomy, tell)
    symlinkSync('/dev/full', `${file}.new`)
    await settle()
    expect(readdirSync(folder)).to.deep.equal([])
    await settle()
    expect(size()).to.equal(undefined)
    for (let turn = 0; turn < 120; turn++) await settle()
    expect(size()).to.equal(reserveBytes)
  })

  it('keeps nobody from starting, where its folder is not there or is none', async () => {
    const gone = join(folder, 'gone')
    await settleReserve(gone, roomy, tell)
    expect(existsSync(gone)).to.equal(false)
    writeFileSync(gone, '')
    await settleReserve(gone, roomy, tell)
    truncateSync(gone)
    expect([told, fullDisksOf(gone)]).to.deep.equal([[], []])
  })

  it('is named with what a start takes, where one has failed and the disk has not even that', async () => {
    tellMissingRoom(folder, roomy, tell)
    expect(told).to.deep.equal([])
    tellMissingRoom(folder, { reserveBytes, reserveFreeBytesMin: 1_048_576, bytesLeft: () => 2_048 }, tell)
    const where = `on the disk of ${folder}, where 2 KiB are free`
    expect(told).to.deep.equal([`a start takes 1024 KiB ${where}: remove something beside it, and start again`])
  })

  it('is no help on a disk without inodes, which is named', async () => {
    mkdirSync(join(folder, 'index'))
    await settleReserve(folder, roomy, tell)
    expect(fullDisksOf(folder, () => 1)).to.deep.equal([])
    const lacking = { folder, not: 'accepted or folded', lacks: 'inodes' }
    expect(fullDisksOf(folder, () => 0)).to.deep.equal([lacking])
    expect(fullDisksOf(folder, () => undefined)).to.deep.equal([])
  })

  it('says where a start that has failed had no inodes for its files', () => {
    tellMissingRoom(folder, roomy, tell, () => undefined)
    tellMissingRoom(folder, roomy, tell, () => 32)
    expect(told).to.deep.equal([])
    tellMissingRoom(folder, roomy, tell, () => 3)
    expect(told).to.deep.equal([
      `a start makes some 32 files on the disk of ${folder}, which has room for 3 more (df -i): remove files beside it, and start again`,
    ])
  })

  it('stays with a server that runs, where another is started beside it, which is told of that server alone', async () => {
    await settleReserve(folder, roomy, tell)
    const running = await lockData(folder, full, tell)
    const refused = await rejection(lockData(folder, full, tell))
    expect(refused)
      .to.be.instanceOf(PermanentError)
      .with.property('message')
      .that.includes('another server is using it')
    expect([size(), told]).to.deep.equal([reserveBytes, []])
    running.release()
  })

  it('is given up for the lock of a server that is started, where that fails otherwise', async () => {
    await settleReserve(folder, roomy, tell)
    mkdirSync(join(folder, 'lock.pid'))
    expect(await rejection(lockData(folder, full, tell))).to.be.instanceOf(PermanentError)
    expect(size()).to.equal(0)
    expect(told).to.have.length(2)
    expect(told[1]).to.match(/^a start takes /)
    rmSync(join(folder, 'lock.pid'), { recursive: true })
    const lock = await lockData(folder, full, tell)
    lock.release()
  })
})
