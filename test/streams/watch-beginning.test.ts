import { expect } from 'chai'
import { logName } from '#streams/jetstream/subjects.ts'
import type { Ends } from '#streams/jetstream/stream-state.ts'
import { watchBeginning } from '#streams/jetstream/watch-beginning.ts'

describe('a watch of the beginning of a JetStream log', () => {
  const start = (isExplained: (sequence: number) => Promise<boolean>) => {
    const clock = { ms: 0 }
    const told: string[] = []
    const warn = (line: string) => void told.push(/message \d+/.exec(line)?.[0] ?? line)
    const opened = { first: 1, last: 9, cut: 0 }
    const begin = watchBeginning(logName('0'), opened, { isExplained, warn, ticks: () => clock.ms })
    const look = (ends: Ends): Promise<void> => begin()(ends)
    /** What two looks tell. */
    const see = async (first: number, cut = 0): Promise<readonly string[]> => {
      for (let times = 0; times < 2; times++) await look({ first, last: 9, cut })
      return told.splice(0)
    }
    return { begin, clock, look, see, told }
  }

  it('tells together what goes one by one, as by an age limit, and not of each message', async () => {
    const { clock, see } = start(async () => false)
    expect(await see(2)).to.deep.equal(['message 1'])
    for (const first of [3, 4, 5]) expect(await see(first)).to.deep.equal([])
    clock.ms = 599_999
    expect(await see(5)).to.deep.equal([])
    clock.ms = 600_000
    expect(await see(5)).to.deep.equal(['message 4'])
    clock.ms = 2_000_000
    expect(await see(5)).to.deep.equal([])
  })

  it('tells also where each look finds that more has gone, as of a log that is written all the time', async () => {
    const { clock, look, told } = start(async () => false)
    for (const first of [2, 4, 7, 9]) await look({ first, last: 20, cut: 0 })
    expect(told).to.deep.equal(['message 1'])
    clock.ms = 600_000
    for (const first of [11, 12]) await look({ first, last: 20, cut: 0 })
    expect(told.slice(1)).to.deep.equal(['message 8'])
  })

  it('says nothing of a cut that each look knows of only in part', async () => {
    const { look, told } = start(async () => false)
    for (const [first, cut] of [
      [4, 0],
      [6, 3],
      [8, 5],
      [8, 7],
    ] as const)
      await look({ first, last: 20, cut })
    expect(told).to.deep.equal([])
  })

  it('does not take a cut for a loss that was noted a moment after it was seen', async () => {
    const { look, see, told } = start(async () => false)
    await look({ first: 4, last: 9, cut: 0 })
    expect(await see(4, 3)).to.deep.equal([])
    expect(told).to.deep.equal([])
  })

  it('takes no look for the second that began before the first was over', async () => {
    const { begin, look, told } = start(async () => false)
    const lost = { first: 4, last: 9, cut: 0 }
    const overlapping = [begin(), begin(), begin()]
    for (const end of overlapping) await end(lost)
    expect(told).to.deep.equal([])
    await look(lost)
    expect(told).to.deep.equal(['message 3'])
  })

  it('asks once whether an erasure took it, and again where there was no answer', async () => {
    const answers = [Promise.reject(new Error('no answer in time')), Promise.resolve(false), Promise.resolve(true)]
    answers[0]?.catch(() => undefined)
    const asked: number[] = []
    const { clock, see } = start(async (sequence) => {
      asked.push(sequence)
      return (await answers.shift()) ?? expect.fail('asked too often')
    })
    expect(await see(3)).to.deep.equal([])
    expect(await see(3)).to.deep.equal(['message 2'])
    clock.ms = 600_000
    expect(await see(6)).to.deep.equal([])
    expect(await see(6)).to.deep.equal([])
    expect(asked).to.deep.equal([2, 2, 5])
  })
})
