import { expect } from 'chai'
import { describe, it } from 'mocha'
import { LostRecordError, type Heartbeat } from '#projections/index-store.ts'
import { progressIn } from '#projections/stores/elasticsearch/build-record.ts'
import type { Place } from '#projections/stores/elasticsearch/place.ts'
import { createProgress } from '#projections/stores/elasticsearch/progress.ts'
import type { JsonObject } from '#src/lib/json.ts'
import { rejection } from '#test/support/read-all.ts'

const beat = (position: number, more: Partial<Heartbeat> = {}): Heartbeat => {
  return { position, head: 9, at: 1_000, caughtUpAt: 1_000, ...more }
}

describe('what the record of a build in Elasticsearch says of its progress', () => {
  /** The record, as compare-and-set keeps it, and a writer that has found it so at its start. */
  const recorded = (stored: JsonObject, share?: string) => {
    const record = { source: stored as JsonObject | undefined, seqNo: 1, updates: 0, reads: 0, nowMs: 0 }
    const unchanged = () => ({ if_seq_no: record.seqNo })
    const records: Place['records'] = {
      read: async () => {
        record.reads++
        return record.source && { source: record.source, unchanged: unchanged() }
      },
      update: async ({ fields, unchanged: { if_seq_no } }) => {
        if (record.source === undefined) return 'gone'
        if (if_seq_no !== record.seqNo) return 'changed'
        record.updates++
        record.source = { ...record.source, ...fields }
        record.seqNo++
        return unchanged()
      },
      builds: async () => [],
    }
    const options = { now: () => record.nowMs, everyMs: 500, share }
    const place = { records, partition: 0 } as Place
    return {
      record,
      progress: createProgress(place, 'x', options, progressIn(stored)),
      checkpoint: () => record.source?.['checkpoint'],
      /** Another owner of the partition writes it. */
      others: (fields: JsonObject) => {
        record.source = { ...record.source, ...fields }
        record.seqNo++
      },
    }
  }
  const began = { checkpoint: 3, heartbeat: beat(3) as unknown as JsonObject }

  it('is not taken back by a late owner that stops', async () => {
    const { progress, checkpoint, others } = recorded(began)
    progress.wrote(5)
    progress.wrote(4)
    others({ checkpoint: 9 })
    expect(await progress.save()).to.equal(true)
    expect([checkpoint(), progress.recorded()]).to.deep.equal([9, 5])
  })

  it('is up to what is written, whatever is told to readers, and written once', async () => {
    const { record, progress, checkpoint } = recorded(began)
    await progress.tell(beat(6))
    expect([checkpoint(), progress.recorded()]).to.deep.equal([3, 3])
    progress.wrote(5)
    record.nowMs += 1_500
    await progress.tellAgain(1_500)
    expect([checkpoint(), progress.recorded()], 'of a batch that is under way').to.deep.equal([3, 3])
    expect(record.source?.['heartbeat']).to.include({ position: 6, at: 2_500, caughtUpAt: 1_000 })
    await progress.save()
    await progress.save()
    expect([checkpoint(), progress.recorded(), record.updates]).to.deep.equal([5, 5, 3])
  })

  it('is news where more is found, or all is, or not all any more; else it is told in a while', async () => {
    const { record, progress } = recorded(began)
    const updates: number[] = []
    for (const [passedMs, told] of [
      [0, beat(3)],
      [0, beat(3)],
      [499, beat(3, { head: 10 })],
      [1, beat(3, { head: 10 })],
      [0, beat(4, { head: 10 })],
      [0, beat(4, { head: 10, ahead: { position: 5, caughtUpAt: 1, behind: new Map() } })],
      [0, beat(4, { head: 4 })],
      [0, beat(4, { head: 5 })],
      [0, beat(4, { head: 6 })],
    ] as const) {
      record.nowMs += passedMs
      await progress.tell(told)
      updates.push(record.updates)
    }
    expect(updates).to.deep.equal([1, 1, 1, 2, 3, 4, 5, 6, 6])
    expect(record.reads, 'what it was told last is known').to.equal(1)
  })

  it('is told as it is now where another has written meanwhile, by one more look', async () => {
    const { record, progress, checkpoint, others } = recorded(began)
    await progress.tell(beat(4))
    others({ checkpoint: 8, heartbeat: beat(8, { at: 500 }) as unknown as JsonObject })
    progress.wrote(5)
    await progress.tell(beat(5, { head: 10 }))
    expect(checkpoint()).to.equal(8)
    expect(record.source?.['heartbeat']).to.include({ position: 8, head: 10, at: 1_000 })
    expect(record.reads).to.equal(2)
  })

  it('is missed where the record is gone, or the build dropped, also by who has a share of it', async () => {
    for (const share of [undefined, '0']) {
      for (const lose of [{ dropped: true }, undefined]) {
        const { record, progress, others } = recorded(began, share)
        await progress.tell(beat(3))
        progress.wrote(4)
        if (lose === undefined) record.source = undefined
        else others(lose)
        expect(await rejection(progress.tell(beat(4)))).to.be.instanceOf(LostRecordError)
        expect(await progress.save()).to.equal(false)
      }
    }
  })

  it('is that of its share alone, of which readers are told nothing', async () => {
    const { record, progress, checkpoint, others } = recorded({ ...began, shares: { 1: 7 } }, '0')
    progress.wrote(5)
    await progress.tell(beat(5))
    expect([checkpoint(), record.source?.['shares']]).to.deep.equal([3, { 0: 5, 1: 7 }])
    expect(record.source?.['heartbeat']).to.include({ position: 3 })
    others({ shares: { 0: 8, 1: 7 } })
    progress.wrote(6)
    await progress.tell(beat(6))
    expect(record.source?.['shares']).to.deep.equal({ 0: 8, 1: 7 })
  })
})
