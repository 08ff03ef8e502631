import { existsSync, readdirSync, rmSync } from 'node:fs'
import { expect } from 'chai'
import {
  contentOf,
  fillSmall,
  openDamaged,
  openLog,
  pageBytes,
  sampleOf,
  type DamagedLog,
  type Files,
} from './damaged-log.ts'

class Killed extends Error {}
/** Mends until the step of this name, and dies there. */
async function dieAt(log: DamagedLog, name: string): Promise<void> {
  const onStep = (step: string): void => {
    if (step === name) throw new Killed()
  }
  try {
    await log.mend({ onStep })
  } catch (error) {
    if (!(error instanceof Killed)) throw error
  }
}

describe('setting a damaged sqlite log aside, killed, and its quarantine removed then', () => {
  let files: Files
  before(async () => {
    const { db, wal } = await sampleOf(fillSmall, { isKilled: true, checkpointBytes: 100_000 })
    files = { db: Buffer.from(db).fill(0, 4 * pageBytes, 6 * pageBytes), wal }
  })

  it('comes to the same end wherever it was, and says what was lost', async () => {
    const whole = await openDamaged(files)
    const steps: string[] = []
    const { mended } = await whole.mend({ onStep: (step) => steps.push(step) })
    const expected = await contentOf(whole.file)
    await whole.remove()
    const { kept, lost } = mended?.report ?? { kept: 0, lost: 0 }
    expect([expected.length, lost > 0]).to.deep.equal([kept, true])
    const moving = steps.slice(steps.indexOf('begin to move') + 1)
    expect(moving).to.have.length.greaterThan(6)
    for (const step of moving) {
      const log = await openDamaged(files)
      await dieAt(log, step)
      rmSync(log.quarantine, { recursive: true })
      const told: string[] = []
      const { verdict } = await log.mend({ onProgress: (line) => told.push(line) })
      expect(verdict.kind, step).to.equal('sound')
      expect(await contentOf(log.file), step).to.deep.equal(expected)
      expect(told.join('\n'), step).to.include(`which is gone: ${kept} events were kept, ${lost} lost`)
      const left = readdirSync(log.folder).filter((name) => /\.(next|moving|suspect)/.test(name))
      expect(left, step).to.deep.equal([])
      expect((await log.mend()).mended, `${step}: it is in order`).to.equal(undefined)
      await log.remove()
    }
  })

  it('says which logs it was made of, however often', async () => {
    const log = await openDamaged(files)
    const epochs: string[] = []
    for (let time = 0; time < 3; time++) {
      const { verdict } = await log.mend()
      const { epoch, formers } = verdict as Readonly<{ epoch: string; formers: readonly string[] }>
      expect(formers.slice(0, time)).to.deep.equal(epochs)
      expect(formers).to.have.length(time + 1)
      epochs.unshift(epoch)
      const stream = await openLog(log.file)
      await stream.close()
      log.spoil()
    }
    expect(existsSync(log.quarantine)).to.equal(true)
    await log.remove()
  })
})
