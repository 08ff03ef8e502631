import { expect } from 'chai'
import { createDeadLetters } from '#projections/folding/dead-letters.ts'
import { PoisonError } from '#projections/folding/fold-batch.ts'
import { createLeavesOut } from '#projections/folding/left-out-spans.ts'
import { noCounts, type Position } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { readAll } from '#test/support/read-all.ts'
import { counting, mirror } from '#test/support/line-projections.ts'
import { makeEvent } from '#test/support/make-event.ts'

const acme = workspaceIdOf('acme')
const globex = workspaceIdOf('globex')
const month = '2026-11'

describe('spans that an index leaves out', () => {
  const site = () => {
    const stream = createMemoryStream({ partition: '0' })
    const letters = createDeadLetters({ stream, clock: () => 5 })
    const leavesOut = createLeavesOut(counting, stream, letters)
    /** An event that no fold of `counting` can take. */
    const put = async (spans: number, fold = counting): Promise<Position> => {
      const receivedAt = Date.UTC(2026, 10, 21)
      const event = makeEvent(`poison ${spans}`, { workspaceId: acme, receivedAt, counts: { ...noCounts, spans } })
      const { last } = await stream.append([event])
      const [recorded] = await stream.read(last - 1, 1)
      if (recorded === undefined) throw new Error('the event was just written')
      const reason = new PermanentError({ operation: 'fold', subject: 'poison' })
      await letters.put(fold, new PoisonError(recorded, reason))
      return last
    }
    return { stream, letters, leavesOut, put }
  }

  it('are those of a dead letter of the workspace and the month, open or dropped, of the same folds', async () => {
    const { stream, letters, leavesOut, put } = site()
    const ask = async (): Promise<boolean> => leavesOut(acme, month, await stream.head())
    expect(await ask(), 'without letters').to.equal(false)
    await put(0)
    expect(await ask(), 'of an event without spans').to.equal(false)
    await put(1, mirror)
    expect(await ask(), 'of another projection').to.equal(false)
    const position = await put(2)
    expect(await ask()).to.equal(true)
    expect(await leavesOut(globex, month, await stream.head()), 'of another workspace').to.equal(false)
    expect(await leavesOut(acme, '2026-12', await stream.head()), 'of another month').to.equal(false)
    await letters.settle(counting, position, 'dropped')
    expect(await ask(), 'dropped').to.equal(true)
  })

  it('are no more those of a letter that was retried, once the index has reached the place where it is folded', async () => {
    const { stream, letters, leavesOut, put } = site()
    const position = await put(2)
    await letters.settle(counting, position, 'retried')
    const retriedAt = (await readAll(stream)).at(-1)?.position ?? 0
    expect(await leavesOut(acme, month, retriedAt - 1)).to.equal(true)
    expect(await leavesOut(acme, month, retriedAt)).to.equal(false)
  })

  it('are not those of a letter whose event the log has cut', async () => {
    const { stream, leavesOut, put } = site()
    const position = await put(2)
    await stream.cut(position)
    expect(await leavesOut(acme, month, await stream.head())).to.equal(false)
  })
})
