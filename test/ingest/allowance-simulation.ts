import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { limits, plans } from '#src/config.ts'
import type { WorkspacePlan } from '#src/directory/directory.ts'
import { ledgerAfter, ledgerSubject, monthEnd, monthOf, type Month } from '#src/events/allowance.ts'
import type { NewEvent } from '#src/events/envelope.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Grant } from '#src/ingest/allowance.ts'
import type { Receipt } from '#src/ingest/event-of.ts'
import { createRecorder, type Recorder } from '#src/ingest/record.ts'
import { createReservedAllowance, type ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import type { Clock } from '#src/lib/clock.ts'
import { ok } from '#src/lib/result.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import type { Stream } from '#streams/stream.ts'
import { makeEvent } from '#test/support/make-event.ts'
import { randomNumbers } from '#test/support/random.ts'
import { readAll } from '#test/support/read-all.ts'
import { createCall, reach, type Fault } from '#test/support/reach.ts'
import { createProcess, createWorld, type Process } from '#test/support/virtual-world.ts'
import { createAllowanceIndex, spansThatCount, type Hidden, type IndexTroubles } from './allowance-index.ts'

export type Scenario = Readonly<{
  seed: number
  limit: number
  processes: number
  senders: number
  requestsOfEach: number
  spansMax: number
  /** Whether others know at once that a process is gone, as on one machine. */
  knowsDead: boolean
  /** Chance of a fault of each call to the log, and of a crash or a sleep of some process at each turn. */
  faults: number
  crashes: number
  /** How long before the end of a month clocks start, ms; 0: in the middle of one. */
  beforeMonthEndMs: number
  /** Ledgers are corrected by an index, which goes wrong so; senders repeat what was answered, and clocks go forward by hours. */
  index?: IndexTroubles
  hides?: Hidden
  /** The log that processes reach, if it is not as it should be: for showing that the simulation can fail. */
  spoil?: (stream: Stream) => Stream
}>

type Outcome = Readonly<{
  demand: number
  /** Spans in the log, and spans refused by what is there. */
  stored: number
  refused: number
  /** The same by month of receipt. */
  months: ReadonlyMap<Month, Readonly<{ stored: number; refused: number }>>
  /** Spans that senders were told are stored. */
  told: number
  /** What the log held for each request against what its sender was told. */
  lies: readonly string[]
  /** What the ledger of the last month says. */
  month: Month
  spent: number
  open: number
  ledgerEvents: number
  answers503: number
  /** What counts of the log, and of it what did when nothing was wrong any more, and then one more request was sent. */
  counted: number
  corrected: number
}>

type Ingest = Readonly<{ process: Process; allowance: ReservedAllowance; recorder: Recorder; clock: Clock }>
type Request = Readonly<{ name: string; spans: number }>

const workspaceId = workspaceIdOf('acme')
/** How often clocks go forward by hours: less than a day in all, so that every repeat counts once. */
const jumpsMax = 6
/** Far longer than any process takes to give back what it holds. */
const stopMsMax = 10 * 60_000
const nothing = { stored: 0, refused: 0 }

/** The only event of a request: what was granted of it, and what its sender is to be told. */
function eventOf({ spans }: Request, { id, receivedAt }: Receipt, { granted }: Grant): NewEvent {
  const type = granted === 0 ? 'spans.refused' : 'spans.received'
  const counts = { spans: granted, logs: 0, rumEvents: 0, refused: spans - granted, bytes: 0 }
  return { ...makeEvent(id, { type, receivedAt, counts, answer: String(granted) }), id }
}

/** Senders that send again until they are answered, and processes that crash, sleep and lose their log now and then. */
export async function simulateAllowance(scenario: Scenario): Promise<Outcome> {
  const { seed, limit, requestsOfEach, spansMax, knowsDead } = scenario
  const random = randomNumbers(seed)
  const below = (max: number): number => Math.floor(random() * max)
  const { beforeMonthEndMs } = scenario
  const world = beforeMonthEndMs === 0 ? createWorld() : createWorld(monthEnd('2026-11') - beforeMonthEndMs)
  const memory = createMemoryStream({ partition: '0', epoch: 'virtual' })
  let [ledgerEvents, answers503, made] = [0, 0, 0]
  const months = new Map<Month, Readonly<{ stored: number; refused: number }>>()
  let isCalm = false
  let corrected = 0
  const log: Stream = {
    ...memory,
    append: async (events, expected) => {
      const appended = await memory.append(events, expected)
      for (const [index, event] of events.entries()) {
        if (appended.events[index]?.repeated !== undefined) continue
        const month = monthOf(event.receivedAt)
        const { stored, refused } = months.get(month) ?? nothing
        const { counts } = event
        months.set(month, { stored: stored + counts.spans, refused: refused + counts.refused })
        if (event.type.startsWith('allowance.')) ledgerEvents++
        if (event.type === 'allowance.counted') corrected++
      }
      return appended
    },
  }
  const reached = scenario.spoil?.(log) ?? log
  const [over, projectorOver] = [new AbortController(), new AbortController()]
  const countIndex =
    scenario.index &&
    (await createAllowanceIndex({
      world,
      stream: memory,
      random,
      troubles: scenario.index,
      hides: scenario.hides,
    }))
  const projected = countIndex?.project(projectorOver.signal)
  const plan: WorkspacePlan = { ...(plans['free'] as WorkspacePlan), spansPerMonth: limit }
  const credential = { workspaceId, workspace: { plan } } as unknown as Receipt['credential']
  const alive = new Map<string, Process>()

  const fault = (): Fault => {
    if (isCalm || random() >= scenario.faults) return undefined
    return (['before', 'after', 'late', 'twice'] as const)[below(4)]
  }
  const start = (): Ingest => {
    const process = createProcess(world)
    const holder = `process-${++made}`
    alive.set(holder, process)
    void process.died.then(() => alive.delete(holder))
    const skewMs = below(2_000)
    const clock = () => world.now() + skewMs
    const network = { delayMs: () => below(20), fault, lateMs: () => below(20_000) }
    const stream = reach(reached, world, process, network)
    const slow = { ...network, delayMs: () => (isCalm || random() < 0.9 ? below(20) : below(5_000)) }
    const counted = countIndex?.counted(createCall(world, process, slow), stream, clock)
    const allowance = createReservedAllowance({
      stream,
      clock,
      ticks: world.ticks,
      holder,
      newId: () => createHash('sha256').update(`${seed} ${++made}`).digest('hex').slice(0, 32),
      timers: process.timers,
      random,
      limits: { ...limits, reservedSpansMin: 16 },
      isGone: (other) => knowsDead && !alive.has(other),
      counted: counted ?? (async () => undefined),
      onFailure: () => undefined,
    })
    void allowance.sweep([workspaceId])
    return {
      process,
      clock,
      allowance,
      recorder: createRecorder({ stream, gate: allowance, renew: async (credential) => ok(credential), clock }),
    }
  }
  const ingests = Array.from({ length: scenario.processes }, start)

  const attempt = async ({ recorder, process, clock }: Ingest, request: Request): Promise<number | undefined> => {
    const receipt = { credential, id: `acme.traces.${request.name}`, identified: true, receivedAt: clock() }
    const make = async (grant: Grant): Promise<readonly NewEvent[]> => [eventOf(request, receipt, grant)]
    const answer = recorder.recordSpans(receipt, { valid: request.spans, isPartial: false }, make).then(
      (recorded) => {
        if (!recorded.ok) return undefined
        const { repeated, grant } = recorded.value
        return repeated === undefined ? grant.granted : Number(repeated.answer)
      },
      () => undefined,
    )
    // A sender waits for ten seconds, and hears at once that the connection is gone.
    const unanswered = Promise.race([process.died, world.sleep(10_000)]).then(() => undefined)
    return Promise.race([answer, unanswered])
  }
  const send = async (request: Request): Promise<number> => {
    for (;;) {
      const told = await attempt(ingests[below(ingests.length)] as Ingest, request)
      if (told !== undefined) return told
      answers503++
      await world.sleep(below(2_000))
    }
  }
  let [demand, told] = [0, 0]
  const lies: string[] = []
  const sender = async (number: number): Promise<void> => {
    const sent: Request[] = []
    for (let turn = 0; turn < requestsOfEach; turn++) {
      const again = countIndex !== undefined && random() < 0.3 ? sent[below(sent.length)] : undefined
      const request = again ?? { name: `${number}-${turn}`, spans: 1 + below(spansMax) }
      sent.push(request)
      demand += request.spans
      const accepted = await send(request)
      told += accepted
      const held = (await readAll(memory)).filter(({ id }) => id === `acme.traces.${request.name}`)
      // One that was repeated after hours is there twice, and may have had another answer then.
      const spans = held.map(({ counts }) => counts.spans)
      if (!spans.includes(accepted)) lies.push(`${request.name}: told ${accepted}, held ${spans.join()}`)
      await world.sleep(below(300))
    }
  }
  let jumps = 0
  const trouble = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await world.sleep(below(500))
      if (countIndex !== undefined && jumps < jumpsMax && random() < 0.05) {
        jumps++
        world.jump(2 * 3_600_000 + below(3_600_000))
      }
      if (over.signal.aborted || random() >= scenario.crashes) continue
      const index = below(ingests.length)
      const { process } = ingests[index] as Ingest
      if (random() < 0.5) process.sleep(below(25_000))
      else {
        process.die()
        ingests[index] = start()
      }
    }
  }
  const troubled = trouble()
  await world.until(Promise.all(Array.from({ length: scenario.senders }, (_, number) => sender(number))))
  over.abort()
  await world.until(troubled)
  isCalm = true
  // What sleeps awakes, what is late arrives, what was left behind is taken back.
  await world.until(world.sleep(60_000))
  if (countIndex !== undefined) {
    await world.until(countIndex.calm())
    await world.until(send({ name: 'the rest', spans: limit }))
    projectorOver.abort()
    await world.until(projected ?? Promise.resolve())
  }
  const endless = world
    .sleep(stopMsMax)
    .then(() => Promise.reject(new Error('a process does not stop: its turns do not end')))
  await world.until(Promise.race([endless, Promise.all(ingests.map(({ allowance }) => allowance.close()))]))
  const month = monthOf(world.now())
  const { spent, open } = ledgerAfter(await memory.last(ledgerSubject(workspaceId, month)), memory.epoch)
  const sum = (of: keyof typeof nothing): number => [...months.values()].reduce((all, each) => all + each[of], 0)
  const sums = { stored: sum('stored'), refused: sum('refused'), months }
  const counted = spansThatCount(await readAll(memory))
  return { demand, ...sums, counted, corrected, told, lies, month, spent, open: open.length, ledgerEvents, answers503 }
}

/** Fails unless the outcome is exact: what is refused is refused in a month that is full, and nothing is left of the last month's ledger. */
export function expectExact({ limit }: Scenario, outcome: Outcome, what: string): void {
  const { demand, stored, refused, months, told, lies, month, spent, open } = outcome
  expect(lies, what).to.deep.equal([])
  expect({ told, all: stored + refused }, what).to.deep.equal({ told: stored, all: demand })
  for (const [each, of] of months) expect(of.stored, `${what}, ${each}`).to.be.within(of.refused > 0 ? limit : 0, limit)
  expect({ spent, open }, what).to.deep.equal({ spent: months.get(month)?.stored ?? 0, open: 0 })
}

/** Fails unless all of the limit counts, and no more: in the end the ledger was corrected for each request that is twice in the log. */
export function expectCounted({ limit }: Scenario, outcome: Outcome, what: string): void {
  const { lies, counted, stored, spent, open } = outcome
  expect(lies, what).to.deep.equal([])
  expect({ counted, spent, open }, what).to.deep.equal({ counted: limit, spent: limit, open: 0 })
  expect(stored, what).to.be.at.least(limit)
}
