import { expect } from 'chai'
import type { AllowanceGate, Grant, SpansAsked } from '#src/ingest/allowance.ts'
import { createMovableAllowance } from '#src/ingest/movable-allowance.ts'
import { TransientError } from '#src/lib/failure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'

const asked = (eventId: string, spans = 1): SpansAsked => ({
  workspaceId: workspaceIdOf('acme'),
  eventId,
  spans,
  limit: 10,
  at: 0,
})

/** A gate that answers when the test says so, and remembers what it was told. */
function createScriptedGate() {
  const requests: Readonly<{
    asked: SpansAsked
    grant: (grant: Grant | 'pending') => void
    fail: (e: Error) => void
  }>[] = []
  const told: string[] = []
  const gate: AllowanceGate = {
    reserve: (asked) =>
      new Promise((resolve, reject) => {
        requests.push({ asked, grant: resolve, fail: reject })
      }),
    settle: async (reservation) => void told.push(`settle ${reservation}`),
    release: async (reservation) => void told.push(`release ${reservation}`),
    doubt: async (reservation) => void told.push(`doubt ${reservation}`),
  }
  return { gate, requests, told, asked: () => requests.map((request) => request.asked.eventId) }
}

const granted = (reservation: string): Grant => ({ granted: 1, used: 0, reservation })
/** What a promise has come to once everything that is due has run; `waiting` when it has not. */
async function stateOf(promise: Promise<unknown>): Promise<unknown> {
  const turn = new Promise((resolve) => setImmediate(resolve, 'waiting'))
  return Promise.race([promise.catch((error: unknown) => error), turn])
}
const reservationOf = async (promise: Promise<Grant | 'pending'>): Promise<string> => {
  const grant = await promise
  return grant === 'pending' ? grant : grant.reservation
}

describe('an allowance that moves from gate to gate', () => {
  const make = (waitingMax = 100) => createMovableAllowance({ waitingMax })

  it('asks nobody until it is opened, then in the order in which it was asked', async () => {
    const allowance = make()
    const first = createScriptedGate()
    const all = ['a', 'b'].map((id) => allowance.reserve(asked(id)))
    expect(await stateOf(Promise.all(all))).to.equal('waiting')
    allowance.open(first.gate)
    void allowance.reserve(asked('c'))
    expect(first.asked()).to.deep.equal(['a', 'b', 'c'])
  })

  for (const outcome of ['settle', 'release', 'doubt'] as const) {
    it(`is empty when the last reservation has had its ${outcome}`, async () => {
      const allowance = make()
      const { gate, requests, told } = createScriptedGate()
      allowance.open(gate)
      const one = allowance.reserve(asked('a'))
      const two = allowance.reserve(asked('b'))
      requests[0]?.grant(granted('r1'))
      const reservation = await reservationOf(one)
      const paused = allowance.pause()
      expect(await stateOf(paused)).to.equal('waiting')
      await allowance[outcome](reservation)
      expect(await stateOf(paused), 'one is still asked for').to.equal('waiting')
      requests[1]?.grant('pending')
      expect(await two).to.equal('pending')
      expect(await stateOf(paused)).to.equal(true)
      expect(told).to.deep.equal([`${outcome} r1`])
    })
  }

  it('is empty at once when nothing is open, and after grants that hold nothing and failures', async () => {
    const allowance = make()
    const { gate, requests } = createScriptedGate()
    allowance.open(gate)
    const [none, failed] = [allowance.reserve(asked('a')), allowance.reserve(asked('b'))]
    requests[0]?.grant({ granted: 0, used: 10, reservation: '' })
    requests[1]?.fail(new TransientError({ operation: 'read', subject: 'log' }))
    expect(await none).to.deep.equal({ granted: 0, used: 10, reservation: '' })
    expect(await stateOf(failed)).to.be.instanceOf(TransientError)
    expect(await stateOf(allowance.pause())).to.equal(true)
  })

  it('keeps who asks while it is paused for the next gate', async () => {
    const allowance = make()
    const [first, second] = [createScriptedGate(), createScriptedGate()]
    allowance.open(first.gate)
    expect(await allowance.pause()).to.equal(true)
    void allowance.reserve(asked('a'))
    allowance.open(second.gate)
    expect([first.asked(), second.asked()]).to.deep.equal([[], ['a']])
  })

  it('goes on with its gate when it is resumed, and says that it was not empty', async () => {
    const allowance = make()
    const { gate, requests, asked: names } = createScriptedGate()
    allowance.open(gate)
    const open = allowance.reserve(asked('a'))
    const paused = allowance.pause()
    void allowance.reserve(asked('b'))
    allowance.resume()
    expect(await paused).to.equal(false)
    expect(names()).to.deep.equal(['a', 'b'])
    requests[0]?.grant(granted('r1'))
    expect(await reservationOf(open)).not.to.equal('')
  })

  it('tells the two gates apart when they name reservations alike', async () => {
    const allowance = make()
    const [first, second] = [createScriptedGate(), createScriptedGate()]
    allowance.open(first.gate)
    const before = allowance.reserve(asked('a'))
    first.requests[0]?.grant(granted('1'))
    await allowance.settle(await reservationOf(before))
    allowance.open(second.gate)
    const after = allowance.reserve(asked('b'))
    second.requests[0]?.grant(granted('1'))
    await allowance.release(await reservationOf(after))
    expect([first.told, second.told]).to.deep.equal([['settle 1'], ['release 1']])
  })

  it('asks the next gate what the lost one did not answer, before all that came later', async () => {
    const allowance = make()
    const [lost, next] = [createScriptedGate(), createScriptedGate()]
    allowance.open(lost.gate)
    const unanswered = allowance.reserve(asked('a'))
    allowance.lose()
    const later = allowance.reserve(asked('b'))
    lost.requests[0]?.grant(granted('too late'))
    expect(await stateOf(unanswered)).to.equal('waiting')
    allowance.open(next.gate)
    expect(next.asked()).to.deep.equal(['a', 'b'])
    next.requests[0]?.grant(granted('r1'))
    next.requests[1]?.grant(granted('r2'))
    await allowance.settle(await reservationOf(unanswered))
    await allowance.settle(await reservationOf(later))
    expect([lost.told, next.told]).to.deep.equal([[], ['settle r1', 'settle r2']])
  })

  it('is not empty while an append goes on for a reservation of the lost gate, and tells nobody of it', async () => {
    const allowance = make()
    const [lost, next] = [createScriptedGate(), createScriptedGate()]
    allowance.open(lost.gate)
    const open = allowance.reserve(asked('a'))
    lost.requests[0]?.grant(granted('r1'))
    const reservation = await reservationOf(open)
    allowance.lose()
    const paused = allowance.pause()
    expect(await stateOf(paused)).to.equal('waiting')
    await allowance.settle(reservation)
    expect(await stateOf(paused)).to.equal(true)
    allowance.open(next.gate)
    await allowance.settle(reservation)
    expect([lost.told, next.told]).to.deep.equal([[], []])
  })

  it('lets only so many wait', async () => {
    const allowance = make(2)
    const all = ['a', 'b', 'c'].map((id) => allowance.reserve(asked(id)))
    expect(await stateOf(all[2] ?? Promise.resolve())).to.be.instanceOf(TransientError)
    expect(await stateOf(all[1] ?? Promise.resolve())).to.equal('waiting')
  })
})
