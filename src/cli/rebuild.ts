import {
  planRebuild,
  rebuild as rebuildAll,
  type RebuildOptions,
  type RebuildPlan,
  type Rebuilt,
} from '#projections/builds/rebuild.ts'
import { positionStep, type Position } from '#src/events/envelope.ts'
import { ok } from '#src/lib/result.ts'
import { withProgress } from './progress.ts'
import { placedName, verdictJson, verdictText, type Place } from './show-verdict.ts'
import { table } from './show.ts'
import type { OpenBuilds } from './services.ts'
import type { Verb, VerbContext } from './verb.ts'
import {
  checkPartition,
  concerns,
  numberOption,
  positionOption,
  workspaceOption,
  type GivenPosition,
} from './options.ts'
import { projectionsNamed, withBuilds } from './with-builds.ts'

const outcomes: Readonly<Record<Rebuilt['outcome'], string>> = {
  moved: 'readers use it now',
  waits: 'readers move to it when a server of this version has started',
  different: 'readers stay with the build that they have',
}

type Done = Rebuilt & Place

function rebuiltText({ index, former, outcome, resumed, verdict, ...place }: Done): string {
  const kept = former === undefined || outcome !== 'moved' ? '' : `; ${former} is kept, see throughline rollback`
  return `${verdictText({ ...verdict, ...place })}\n${placedName(index, place)}${resumed ? ' (resumed)' : ''}: ${outcomes[outcome]}${kept}.`
}

const rebuiltJson = ({ projection, partition, isOneOfMany, index, former, resumed, outcome, verdict }: Done) => ({
  projection,
  partition,
  index,
  former: former ?? null,
  resumed,
  outcome,
  verdict: verdictJson({ ...verdict, partition, isOneOfMany }),
})

const eventsOf = ({ from, head }: RebuildPlan): number => Math.max(0, Math.round((head - from) / positionStep))

type Asked = Omit<RebuildOptions, 'from'> & Readonly<{ from: GivenPosition | undefined }>

/** The position just before an event, so that the event there is folded, and none before it. */
const justBefore = (position: Position): Position => Math.max(0, Math.ceil(position / positionStep - 1) * positionStep)

/** The options for one partition: a position of another partition leaves out nothing there. */
function optionsIn({ stream }: OpenBuilds, { from, ...options }: Asked): RebuildOptions {
  return from === undefined || !concerns(from, stream.partition)
    ? options
    : { ...options, from: justBefore(from.position) }
}

type Planned = RebuildPlan & Readonly<{ partition: string }>

async function planPartition(given: VerbContext, context: OpenBuilds, asked: Asked): Promise<readonly Planned[]> {
  const projections = projectionsNamed(context, given.names[0] ?? '')
  const plans = await planRebuild(context, projections, optionsIn(context, asked))
  return plans.map((plan) => ({ ...plan, partition: context.stream.partition }))
}

function showPlans(plans: readonly Planned[]) {
  const rows = plans.map((one) => [
    one.projection,
    one.partition,
    one.live ?? '',
    `${one.index}${one.resumes ? ' (resumes)' : ''}`,
    String(one.from),
    String(eventsOf(one)),
  ])
  const json = plans.map((one) => ({ ...one, live: one.live ?? null, events: eventsOf(one) }))
  return ok({
    json: { plans: json },
    text: table([['PROJECTION', 'PARTITION', 'LIVE', 'NEW', 'FROM', 'EVENTS'], ...rows]),
  })
}

async function rebuildPartition(given: VerbContext, context: OpenBuilds, asked: Asked): Promise<readonly Rebuilt[]> {
  const projections = projectionsNamed(context, given.names[0] ?? '')
  return withProgress(given, (onProgress) =>
    rebuildAll(context, projections, { ...optionsIn(context, asked), onProgress }),
  )
}

export const rebuild: Verb = {
  names: ['PROJECTION|all'],
  usage: '[--workspace W] [--from POSITION] [--throttle EVENTS_PER_SECOND] [--keep] [--dry-run]',
  about:
    'folds a new index from the log beside the old one, compares it, and moves readers to it; continues where it was interrupted',
  options: {
    workspace: { type: 'string' },
    from: { type: 'string' },
    throttle: { type: 'string' },
    keep: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  },
  writes: true,
  run: async (given) => {
    const workspace = await workspaceOption(given)
    if (!workspace.ok) return workspace
    const { value: workspaceId } = workspace
    const throttle = numberOption(given, 'throttle', Number.MAX_VALUE)
    const asked: Asked = {
      from: positionOption(given, 'from'),
      keep: given.options['keep'] === true,
      ...(workspaceId === undefined ? {} : { workspaceId }),
      ...(throttle === undefined ? {} : { eventsPerSecondMax: throttle }),
    }
    const checkChosen = (partitions: readonly string[]) => checkPartition(asked.from, partitions, 'from')
    const planOne = (context: OpenBuilds) => planPartition(given, context, asked)
    if (given.options['dry-run'] === true)
      return showPlans((await withBuilds(given, planOne, { workspaceId, checkChosen })).flat())
    const rebuildOne = async (context: OpenBuilds, place: Place) =>
      (await rebuildPartition(given, context, asked)).map((done) => ({ ...done, ...place }))
    const done = (await withBuilds(given, rebuildOne, { workspaceId, checkChosen, check: planOne })).flat()
    const failed = done.some(({ outcome }) => outcome === 'different')
    const text = done.map(rebuiltText).join('\n')
    return ok({ json: { rebuilt: done.map(rebuiltJson) }, text, exitCode: failed ? 1 : 0 })
  },
}
