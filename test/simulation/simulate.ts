import { projections } from '#projections/registry.ts'
import { positionStep } from '#src/events/envelope.ts'
import { dayMs } from '#src/lib/day.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { startEraser } from './eraser.ts'
import { startIngest } from './ingest.ts'
import { contextOf, doSomething, startOperator, type Locks } from './operator.ts'
import { compareByVerify, compareWithFold, compareWithTold, findNothingOf } from './oracle.ts'
import { startProjector, type ProjectorProcess } from './projector-process.ts'
import { leaving } from './requests.ts'
import { doOther } from './second-operator.ts'
import { createSenders, type Load } from './senders.ts'
import { createTornIndex, type Chance, type SimulatedIndex, type Tearing } from './simulated-index.ts'
import { createStage, startMember, type Spoil, type Stage } from './stage.ts'
import { startWatcher } from './watcher.ts'

/** What one seed makes happen. */
export type Scenario = Readonly<{
  tearing: Tearing
  spansPerMonth: number
  /** How far all clocks are put forward each time; 0: not at all. */
  jumpMs: number
  /** Every other time they are put to the last seconds of a day instead. */
  jumpsToMidnight?: boolean
  /** When they start, ms; at noon of a day within a month, where it is left out. */
  startsAt?: number
  /** Two projectors at once, for a time. */
  zombies: boolean
  /** A second one looks and tidies up while the first is at work. */
  operators: 1 | 2
  load: Load
}>

export type Outcome = Readonly<{
  /** What must not be; the first is what counts. */
  violations: readonly string[]
  /** What was done last, the first violation's steps where there is one. */
  steps: readonly string[]
  events: number
  looks: number
}>

const minuteMs = 60_000
const unlimited = 1e9

/** A scenario by its seed alone. Repeats beyond the log's hour and a limit are apart: a repeat may then be answered otherwise. */
export function scenarioOf(seed: number): Scenario {
  const isNearLimit = seed % 3 === 0
  return {
    tearing: seed % 2 === 0 ? 'files' : 'documents',
    spansPerMonth: isNearLimit ? 8 : unlimited,
    jumpMs: isNearLimit ? 0 : 100 * minuteMs,
    zombies: true,
    operators: seed % 4 === 0 ? 2 : 1,
    load: { senders: 3, requestsOfEach: 6, recordsMax: 4, repeats: 0.4, hasLeaving: seed % 5 === 0 },
  }
}

export const mostOfADayMs = 19 * 60 * minuteMs
/** The same over the end of a month and over midnights, without limits: in a new month there is another. */
export const calendarScenarioOf = (seed: number): Scenario => ({
  ...scenarioOf(seed),
  spansPerMonth: unlimited,
  startsAt: Date.UTC(2026, 10, 30, 23, 59, 45),
  jumpMs: mostOfADayMs,
  jumpsToMidnight: seed % 2 === 0,
})

const dayMostMs = 20 * 60 * minuteMs
const beforeMidnightMs = 10_000
const endsWithinMs = 20 * minuteMs

/** Puts all clocks forward, within a day in all: folds know repeats for so long. */
function createJump({ chance: { below }, world }: Stage, { jumpMs, jumpsToMidnight = false }: Scenario): () => void {
  let jumped = 0
  return () => {
    const isToMidnight = jumpsToMidnight && below(2) === 0
    const by = isToMidnight ? Math.max(0, dayMs - (world.now() % dayMs) - below(beforeMidnightMs)) : below(jumpMs)
    if (jumped + by > dayMostMs) return
    jumped += by
    world.jump(by)
    world.note(`clocks go forward by ${by} ms`)
  }
}

/** Everything that lives at some moment, and what befalls it. */
function createCast(stage: Stage, scenario: Scenario) {
  const { spansPerMonth, tearing, zombies, operators: operatorsMax } = scenario
  const { chance, world, index } = stage
  const { below } = chance
  let [made, powerCuts] = [0, 0]
  const name = (what: string): string => `${what}-${++made}`
  const newIngest = () => startIngest(stage, name('ingest'), spansPerMonth)
  const newProjector = (): ProjectorProcess => startProjector(stage, name('projector'))
  const ingests = [newIngest(), newIngest()]
  const projectors = [newProjector()]
  const locks: Locks = new Map()
  let isOver = false
  const newOperator = (n: number) =>
    startOperator(stage, name('operator'), locks, () => isOver, n === 0 ? doSomething : doOther)
  const operators = Array.from({ length: operatorsMax }, (_, n) => newOperator(n))

  const replaceIngest = (): void => {
    const at = below(ingests.length)
    ingests[at]?.member.process.die()
    ingests[at] = newIngest()
  }
  const replaceProjector = (): void => {
    projectors.splice(below(projectors.length), 1)[0]?.member.process.die()
    if (projectors.length === 0) projectors.push(newProjector())
  }
  const replaceOperator = (): void => {
    const at = operators.length === 1 ? 0 : below(operators.length)
    operators[at]?.member.process.die()
    operators[at] = newOperator(at)
  }
  /** Another projector takes over while the one before only sleeps. */
  const addZombie = (): void => {
    for (const { member } of projectors) member.process.sleep(below(15_000))
    projectors.push(newProjector())
    if (projectors.length > 2) projectors.shift()?.member.process.die()
  }
  const cutPower = async (): Promise<void> => {
    if (tearing === 'documents') return
    world.note('power cut')
    powerCuts++
    for (const { member } of [...ingests, ...projectors.splice(0), ...operators]) member.process.die()
    await index.cutPower()
    for (const at of ingests.keys()) ingests[at] = newIngest()
    projectors.push(newProjector())
    for (const at of operators.keys()) operators[at] = newOperator(at)
  }
  const troubles: readonly (() => void | Promise<void>)[] = [
    replaceIngest,
    () => ingests[below(ingests.length)]?.member.process.sleep(below(15_000)),
    replaceProjector,
    zombies ? addZombie : replaceProjector,
    replaceOperator,
    cutPower,
    createJump(stage, scenario),
  ]
  return {
    ingests,
    projectors,
    locks,
    powerCuts: () => powerCuts,
    async trouble(): Promise<void> {
      while (!stage.isCalm()) {
        await world.sleep(below(1_500))
        if (chance.happens(0.5)) await troubles[below(troubles.length)]?.()
      }
    },
    isOver: () => isOver,
    /** What is left of a ledger is found by who starts. */
    startLast: (): void => void ingests.push(newIngest()),
    /** The operators come to an end, and one projector is left. */
    async settle(): Promise<void> {
      isOver = true
      await Promise.all(operators.map(({ ended }) => ended))
      for (const { member } of projectors.splice(0, projectors.length - 1)) member.process.die()
    },
  }
}
type Cast = ReturnType<typeof createCast>

/** Until readers are told that every projection stands at the head. */
async function untilFolded({ world, index, log, projections }: Stage): Promise<void> {
  for (;;) {
    const head = await log.head()
    const progress = await Promise.all(projections.map(({ name }) => index.reader.progress(name)))
    if (progress.every((each) => each?.position === head)) return
    await world.sleep(500)
  }
}

async function play(stage: Stage, scenario: Scenario, cast: Cast): Promise<Readonly<{ looks: number }>> {
  const { world } = stage
  const eraser = scenario.load.hasLeaving ? startEraser(stage, 'eraser') : undefined
  const senders = createSenders(
    stage,
    cast.ingests,
    scenario.load,
    (workspace) => eraser?.isRefused(workspace) === true,
  )
  let isOver = false
  const watcher = startWatcher(stage, senders.sent, cast, () => isOver)
  const troubled = cast.trouble()
  await senders.run()
  stage.calm()
  await troubled
  await cast.settle()
  // What sleeps awakes, and what is late arrives; then what was left behind is taken back.
  await world.sleep(60_000)
  cast.startLast()
  await world.sleep(60_000)
  await Promise.all(cast.ingests.map(({ allowance }) => allowance.close()))
  await eraser?.finish()
  await untilFolded(stage)
  isOver = true
  await watcher.ended
  await Promise.all(cast.projectors.map((projector) => projector.stop()))
  await compareWithTold(stage, senders.sent, scenario.spansPerMonth)
  if (eraser !== undefined) await findNothingOf(stage, leaving)
  return { looks: watcher.looks() }
}

/** `openIndex`: what is on trial, an index in memory, unless another is given. */
type Options = Readonly<{
  spoil?: Spoil
  scenario?: Scenario
  openIndex?: (chance: Chance) => SimulatedIndex
  /** It ends with the first violation: one is looked for, as of a planted bug. */
  endsAtFirst?: boolean
}>

/** The end: nothing lives any more, and what is there is compared with what should be. */
async function judge(stage: Stage): Promise<void> {
  const { world } = stage
  await world.until(compareWithFold(stage))
  const context = contextOf(stage, startMember(stage, 'verifier'), new Map())
  await world.until(compareByVerify(stage, context))
}

/** Everything that one seed makes happen, to its end, and what was wrong with it. */
export async function simulate(seed: number, options: Options = {}): Promise<Outcome> {
  const { spoil = {}, scenario = scenarioOf(seed) } = options
  const openIndex = options.openIndex ?? ((chance: Chance) => createTornIndex(scenario.tearing, chance, projections))
  const violations: string[] = []
  let steps: readonly string[] | undefined
  const log = createMemoryStream({ partition: '0', epoch: 'simulated' })
  const violated = Promise.withResolvers<undefined>()
  const violate = (what: string): void => {
    steps ??= stage.world.lastSteps()
    violations.push(what)
    if (options.endsAtFirst === true) violated.resolve(undefined)
  }
  const stage: Stage = createStage({ seed, startsAt: scenario.startsAt, spoil, log, projections, openIndex, violate })
  const { world, index } = stage
  const late = world.sleep(endsWithinMs).then(() => undefined)
  const playing = play(stage, scenario, createCast(stage, scenario))
  const played = await world.until(Promise.race([playing, late, violated.promise]))
  if (played !== undefined) await judge(stage)
  else if (violations.length === 0) violate('it comes to no end')
  const events = (await log.head()) / positionStep
  await index.remove()
  return { violations, steps: steps ?? world.lastSteps(), events, looks: played?.looks ?? 0 }
}
