import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { positionStep, type RecordedEvent } from '#src/events/envelope.ts'
import type { Stream } from '#streams/stream.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import {
  createOracle,
  openDamaged,
  pageBytes,
  sampleOf,
  openLog,
  type DamagedLog,
  type Files,
  type Sample,
} from './damaged-log.ts'
import { makeEvent, makeEvents } from '../support/make-event.ts'
import { readAll } from '../support/read-all.ts'

const bytesOf = ({ below }: Random, length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)))

/** Small events, and some that take several pages; one commit a call. */
async function fill(stream: Stream, calls = 40, name = 'call'): Promise<void> {
  const random = createRandom(7)
  for (let call = 0; call < calls; call++) {
    const small = makeEvents(1 + (call % 5), `${name}-${call}`)
    const large =
      call % 6 === 3 ? [makeEvent(`large-${name}-${call}`, { payload: bytesOf(random, 3_000 + 1_700 * call) })] : []
    await stream.append([...small, ...large, makeEvent(`subject-${name}-${call}`, { subject: `subject.${call % 3}` })])
  }
}

/** One that was cut and went on. */
async function fillAndCut(stream: Stream): Promise<void> {
  await fill(stream)
  await stream.cut(20 * positionStep)
  await fill(stream, 5, 'later')
}

const keyOf = ({ id, position, payload }: RecordedEvent): string =>
  `${position} ${id} ${Buffer.from(payload).toString('base64')}`

/** Half as many, where that leaves enough that are noticed. */
const share = process.env['SOAK'] === '1' ? 1 : 0.5

type Damage = Readonly<{
  what: string
  files: Files
  isWhole: Parameters<ReturnType<typeof createOracle>>[0]
  isThorough: boolean
}>

function truncated(sample: Sample, of: 'db' | 'wal', length: number): Damage {
  const files = { ...sample, [of]: sample[of].subarray(0, length) }
  return {
    what: `${of} cut to ${length} of ${sample[of].length}`,
    files,
    isWhole: (file, _from, to) => file !== of || to <= length,
    isThorough: false,
  }
}

function overwritten(sample: Sample, of: 'db' | 'wal', from: number, bytes: Uint8Array): Damage {
  const file = Buffer.from(sample[of])
  file.set(bytes.subarray(0, file.length - from), from)
  const [first, end] = [from, Math.min(file.length, from + bytes.length)]
  return {
    what: `${of} overwritten from ${first} to ${end} of ${file.length}`,
    files: { ...sample, [of]: file },
    isWhole: (which, start, stop) => which !== of || stop <= first || start >= end,
    isThorough: true,
  }
}

function damages(random: Random, sample: Sample, count: number): readonly Damage[] {
  const files = (sample.wal.length > 0 ? ['db', 'wal'] : ['db']) as readonly ('db' | 'wal')[]
  return Array.from({ length: count }, (_, number) => {
    const of = files[number % files.length] ?? 'db'
    const { length } = sample[of]
    const kind = Math.floor(number / files.length) % 5
    const from = random.below(length)
    if (kind === 0) return truncated(sample, of, from)
    if (kind === 1) return truncated(sample, of, length - 1 - random.below(Math.min(length - 1, pageBytes)))
    if (kind === 2) return overwritten(sample, of, from, bytesOf(random, 1 + random.below(8)))
    if (kind === 3) return overwritten(sample, of, from - (from % pageBytes), Buffer.alloc(pageBytes))
    return overwritten(sample, of, from - (from % 512), bytesOf(random, 512 * (1 + random.below(20))))
  })
}

async function expectSetAside(log: DamagedLog, { db, wal }: Files, what: string): Promise<void> {
  const folders = readdirSync(log.quarantine)
  expect(folders, what).to.have.length(1)
  const folder = join(log.quarantine, folders[0] ?? '')
  expect(readFileSync(join(folder, 'log.db')).equals(db), `${what}: the database is as it was`).to.equal(true)
  if (wal.length > 0) expect(readFileSync(join(folder, 'log.db-wal')).equals(wal), `${what}: the WAL is`).to.equal(true)
  expect(existsSync(join(folder, 'report.json')), what).to.equal(true)
}

/** What is left of a log can be written on, and answers as any other. */
async function expectInOrder(log: DamagedLog, found: readonly RecordedEvent[], what: string): Promise<void> {
  const stream = await openLog(log.file)
  const newest = found.at(-1)
  const { last, events } = await stream.append([makeEvent('behind'), ...(newest === undefined ? [] : [newest])])
  expect(last, `${what}: it goes on behind what is left`).to.be.greaterThan(newest?.position ?? 0)
  if (newest !== undefined) expect(events[1]?.position, `${what}: its ids are known`).to.equal(newest.position)
  expect((await readAll(stream)).map(keyOf), what).to.have.length(found.length + 1)
  await stream.close()
  expect((await log.mend()).mended, `${what}: it is in order`).to.equal(undefined)
}

describe('a damaged sqlite log', () => {
  const samples: readonly (readonly [name: string, make: () => Promise<Sample>, count: number])[] = [
    ['after a stop', () => sampleOf((stream) => fill(stream), { isKilled: false }), 100 * share],
    ['after a stop, cut', () => sampleOf(fillAndCut, { isKilled: false }), 60 * share],
    ['after a kill', () => sampleOf((stream) => fill(stream), { isKilled: true }), 100 * share],
    [
      'after a kill, all of it in the WAL',
      () => sampleOf((stream) => fill(stream), { isKilled: true, checkpointBytes: 1e9 }),
      60,
    ],
  ]
  for (const [name, make, count] of samples) {
    it(`is set aside, and goes on with all that can be read: ${count} damages ${name}`, async () => {
      const sample = await make()
      const oracle = createOracle(sample)
      const all = sample.events.map(keyOf)
      const lastCall = sample.events.slice(-12).map(keyOf)
      const random = createRandom(20_261_122 + count)
      let [mended, lost] = [0, 0]
      expect(
        oracle(() => true),
        'the oracle finds every event',
      ).to.have.length(all.length)
      for (const { what, files, isWhole, isThorough } of damages(random, sample, count)) {
        const log = await openDamaged(files)
        if (isThorough) log.suspect()
        const outcome = await log.mend()
        const stream = await openLog(log.file)
        const events = await readAll(stream)
        const { epoch } = stream
        await stream.close()
        const found = events.map(keyOf)
        expect(found, `${what}: in order, each where it stood, and nothing else`).to.deep.equal(
          all.filter((key) => new Set(found).has(key)),
        )
        const missed = oracle(isWhole)
          .map(keyOf)
          .filter((key) => !new Set(found).has(key))
        if (outcome.mended === undefined) {
          expect(found, `${what}: what is found is a beginning`).to.deep.equal(all.slice(0, found.length))
          expect(
            missed.filter((key) => !lastCall.includes(key)),
            `${what}: only a torn end is missing`,
          ).to.deep.equal([])
          expect(epoch).to.equal(sample.epoch)
        } else {
          mended++
          lost += all.length - found.length
          expect(missed, `${what}: what the damage has not reached is there`).to.deep.equal([])
          expect(epoch, 'its readers begin anew').not.to.equal(sample.epoch)
          expect(outcome.mended.report?.kept, what).to.equal(found.length)
          await expectSetAside(log, files, what)
        }
        await expectInOrder(log, events, what)
        await log.remove()
      }
      expect(mended, 'damages that were noticed').to.be.greaterThan(count / 3)
      expect(lost, 'events that were lost').to.be.greaterThan(0)
    })
  }
})
