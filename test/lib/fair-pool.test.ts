import { expect } from 'chai'
import { present } from '#src/lib/assert.ts'
import { TransientError } from '#src/lib/failure.ts'
import { createFairPool } from '#src/lib/fair-pool.ts'

type Worker = Readonly<{ name: number; end(): void }>

describe('a fair pool', () => {
  let opened: Worker[] = []
  let said: string[] = []
  let finish = new Map<string, () => void>()

  function poolOf(workersMax: number) {
    opened = []
    said = []
    finish = new Map()
    const open = (onEnd: () => void): Worker => {
      const worker = { name: opened.length, end: onEnd }
      opened.push(worker)
      return worker
    }
    const pool = createFairPool(open, workersMax)
    /** A task that says where it runs, and goes on until it is finished. */
    const begin = (owner: string, name: string, signal?: AbortSignal): Promise<string> =>
      pool.run(
        owner,
        async (worker) => {
          said.push(`${name} on ${worker.name}`)
          await new Promise<void>((resolve) => finish.set(name, resolve))
          return name
        },
        signal,
      )
    return { pool, begin }
  }
  const done = async (name: string, task: Promise<string>): Promise<void> => {
    finish.get(name)?.()
    expect(await task).to.equal(name)
  }

  it('opens a worker only when the others are busy, and gives each one task at a time', async () => {
    const { begin } = poolOf(3)
    const a1 = begin('a', 'a1')
    await done('a1', a1)
    const [a2, b1, c1, c2] = [begin('a', 'a2'), begin('b', 'b1'), begin('c', 'c1'), begin('c', 'c2')]
    expect(said).to.deep.equal(['a1 on 0', 'a2 on 0', 'b1 on 1', 'c1 on 2'])
    await done('b1', b1)
    expect(said.at(-1)).to.equal('c2 on 1')
    await done('a2', a2)
    await done('c1', c1)
    await done('c2', c2)
    expect(opened).to.have.length(3)
  })

  it('leaves one worker for others, however much one owner wants', async () => {
    const { begin } = poolOf(3)
    const wanted = ['a1', 'a2', 'a3', 'a4'].map((name) => begin('a', name))
    expect(said).to.deep.equal(['a1 on 0', 'a2 on 1'])
    const b1 = begin('b', 'b1')
    expect(said.at(-1)).to.equal('b1 on 2')
    await done('b1', b1)
    expect(said).to.have.length(3)
    for (const [n, task] of wanted.entries()) await done(`a${n + 1}`, task)
    expect(said.slice(3)).to.deep.equal(['a3 on 0', 'a4 on 1'])
  })

  it('takes next who has the fewest under way, then who has waited longest', async () => {
    const { begin } = poolOf(3)
    const tasks = new Map(
      ['a1', 'a2', 'b1', 'a3', 'b2', 'c1', 'c2', 'd1'].map((name) => [name, begin(name.slice(0, 1), name)] as const),
    )
    const finished = ['a1', 'b1', 'c1', 'd1', 'a2', 'a3', 'b2', 'c2']
    for (const name of finished) await done(name, present(tasks.get(name), 'a task of this name'))
    expect(said).to.deep.equal([
      ...['a1 on 0', 'a2 on 1', 'b1 on 2'],
      ...['c1 on 0', 'b2 on 2', 'd1 on 0', 'c2 on 0', 'a3 on 1'],
    ])
  })

  it('goes on when a task fails, and says so to who asked for it alone', async () => {
    const { pool, begin } = poolOf(1)
    const failed = pool.run('a', async () => {
      throw new RangeError('no')
    })
    const after = begin('a', 'a2')
    expect(await failed.catch((error: unknown) => error)).to.be.instanceOf(RangeError)
    await done('a2', after)
  })

  it('gives a worker that has ended no task, and opens another in its place', async () => {
    const { begin } = poolOf(2)
    const a1 = begin('a', 'a1')
    opened[0]?.end()
    const b1 = begin('b', 'b1')
    const c1 = begin('c', 'c1')
    await done('a1', a1)
    expect(said).to.deep.equal(['a1 on 0', 'b1 on 1', 'c1 on 2'])
    await done('b1', b1)
    await done('c1', c1)
  })

  it('refuses what has not begun when it is closed, and names its workers', async () => {
    const { pool, begin } = poolOf(2)
    const [a1, a2] = [begin('a', 'a1'), begin('a', 'a2')]
    expect(pool.close()).to.deep.equal(opened)
    for (const task of [a2, begin('b', 'b1')]) {
      expect(await task.catch((error: unknown) => error)).to.be.instanceOf(TransientError)
    }
    await done('a1', a1)
    expect(said).to.deep.equal(['a1 on 0'])
  })

  it('does not begin what nobody waits for any more, and lets what has begun go to its end', async () => {
    const { begin } = poolOf(2)
    const gone = new AbortController()
    const begun = begin('a', 'a1', gone.signal)
    const dropped = begin('a', 'a2', gone.signal).catch((error: unknown) => error)
    const kept = begin('a', 'a3')
    gone.abort('gone')
    expect(await dropped).to.equal('gone')
    expect(await begin('b', 'b1', gone.signal).catch((error: unknown) => error)).to.equal('gone')
    await done('a1', begun)
    expect(said).to.deep.equal(['a1 on 0', 'a3 on 0'])
    await done('a3', kept)
  })
})
