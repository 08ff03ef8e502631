import { expect } from 'chai'
import { recountLedgers } from '#src/compose/recount.ts'
import { ledgerAfter, ledgerSubject, monthOf, sealLedgerEvent, type LedgerEntry } from '#src/events/allowance.ts'
import { noCounts, type NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { makeLogFolder, type LogFolder } from '../support/log-folder.ts'
import { makeEvent, noon } from '../support/make-event.ts'

const acme = workspaceIdOf('acme')
const month = monthOf(noon)
const clock = (): number => noon

describe('ledgers of span allowances, of which events were lost', () => {
  let log: LogFolder
  beforeEach(async () => {
    log = await makeLogFolder()
  })
  afterEach(() => log.remove())

  const spans = (name: string, count: number, reservation?: string, receivedAt = noon): NewEvent =>
    makeEvent(name, {
      receivedAt,
      counts: { ...noCounts, spans: count },
      ...(reservation === undefined ? {} : { reservation }),
    })
  const ledger = (unique: string, entry: Pick<LedgerEntry, 'spent' | 'open'>): NewEvent =>
    sealLedgerEvent(
      'allowance.returned',
      { month, epoch: 'the one before', by: 'a process', ended: [], ...entry },
      { workspaceId: acme, at: noon, unique },
    )
  async function spentAfter(events: readonly NewEvent[]): Promise<readonly [spent: number, open: number]> {
    const stream = await log.open()
    for (const event of events) await stream.append([event])
    await stream.close()
    await recountLedgers({ file: log.file, partition: '0' }, clock)
    const again = await log.open()
    const { spent, open } = ledgerAfter(await again.last(ledgerSubject(acme, month)), again.epoch)
    await again.close()
    return [spent, open.length]
  }
  const opened = { id: 'open', spans: 100, holder: 'a process', until: noon, since: 4_096 }

  it('are what the newest one left says, and what the log holds of reservations that it does not know to have ended', async () => {
    const events = [
      spans('ended before', 5, 'ended'),
      spans('of the open one', 7, 'open'),
      ledger('first', { spent: 5, open: [opened] }),
      spans('of the open one, later', 11, 'open'),
      // Whose ledger’s event was lost.
      spans('of one that nobody knows', 13, 'unknown'),
    ]
    expect(await spentAfter(events)).to.deep.equal([5 + 7 + 11 + 13, 0])
  })

  it('are all that the log holds of the month, where nothing of one is left', async () => {
    const lastMonth = spans('of last month', 100, 'r0', noon - 40 * 86_400_000)
    expect(await spentAfter([lastMonth, spans('a', 2, 'r1'), spans('b', 3)])).to.deep.equal([5, 0])
    const again = await log.open()
    expect(await again.last(ledgerSubject(acme, monthOf(lastMonth.receivedAt))), 'nobody spends of that').to.equal(
      undefined,
    )
    await again.close()
  })

  it('are left as they are of a month that is over, though one was written in this', async () => {
    const lastMonth = monthOf(noon - 40 * 86_400_000)
    const entry = { month: lastMonth, epoch: 'the one before', by: 'a process', ended: [], spent: 5, open: [] }
    const stream = await log.open()
    await stream.append([sealLedgerEvent('allowance.returned', entry, { workspaceId: acme, at: noon, unique: 'late' })])
    const head = await stream.head()
    await stream.close()
    await recountLedgers({ file: log.file, partition: '0' }, clock)
    const again = await log.open()
    expect(await again.head()).to.equal(head)
    await again.close()
  })

  it('keep what was spent of events that were cut from the log', async () => {
    const both = [ledger('first', { spent: 30_000, open: [] }), ledger('second', { spent: 40_000, open: [] })]
    expect(await spentAfter(both), 'as the newer one says').to.deep.equal([40_000, 0])
  })
})
