import { refuseOtherVersions } from '#projections/builds/own-versions.ts'
import { liveBuilds, verify as verifyBuilds } from '#projections/builds/verify.ts'
import { beforeAll } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { ok } from '#src/lib/result.ts'
import { withProgress } from './progress.ts'
import { verdictJson, verdictText, type Place, type PlacedVerdict } from './show-verdict.ts'
import { numberOption, optional, workspaceOption } from './options.ts'
import { UsageError, type Verb, type VerbContext } from './verb.ts'
import type { OpenBuilds } from './services.ts'
import { projectionsNamed, withBuilds } from './with-builds.ts'

/** This part of the workspaces, at random; at least one. */
async function sampleOf(
  context: OpenBuilds,
  indexes: readonly string[],
  part: number,
  random: VerbContext['random'],
): Promise<readonly WorkspaceId[]> {
  const audit = context.index.audit()
  try {
    const parts = (await Promise.all(indexes.map((index) => audit.parts(index)))).flat()
    const all = [...new Set(parts.map(({ workspaceId }) => workspaceId))]
    const drawn = all.map((workspaceId) => ({ workspaceId, at: Buffer.from(random(4)).readUInt32BE() }))
    const count = Math.max(1, Math.round(all.length * part))
    return drawn
      .sort((a, b) => a.at - b.at)
      .slice(0, count)
      .map(({ workspaceId }) => workspaceId)
  } finally {
    await audit.close()
  }
}

/** A projection without an index in a partition. */
type Missing = Readonly<{ projection: string; partition: string }>
type Verified = Readonly<{ verdicts: readonly PlacedVerdict[]; missing: readonly Missing[] }>

/** Whether a log holds more than the event with which ingest begins it. Until then nobody has to have folded the partition. */
const holdsFacts = async ({ stream }: OpenBuilds): Promise<boolean> =>
  (await stream.read(beforeAll, 2)).some(({ type }) => type !== 'allowance.began')

const namesOf = (given: VerbContext, context: OpenBuilds): readonly string[] =>
  projectionsNamed(context, given.names[0] ?? '').map(({ name }) => name)

async function verifyPartition(
  given: VerbContext,
  context: OpenBuilds,
  workspaceId: WorkspaceId | undefined,
  place: Place,
): Promise<Verified> {
  const names = namesOf(given, context)
  const targets = await liveBuilds(context, names)
  const unbuilt = names.filter((name) => !targets.some(({ projection }) => projection === name))
  const missing = unbuilt.length > 0 && (await holdsFacts(context)) ? unbuilt : []
  const part = numberOption(given, 'sample', 1)
  const indexes = targets.map(({ index }) => index)
  const sample = part === undefined ? undefined : await sampleOf(context, indexes, part, given.random)
  const workspaces = workspaceId === undefined ? sample : [workspaceId]
  const until = await context.stream.head()
  const verdicts = await withProgress(given, (tell) =>
    verifyBuilds(context, targets, {
      ...(workspaces === undefined ? {} : { workspaces }),
      onProgress: (position) => tell({ phase: 'verify', position, from: 0, until }),
    }),
  )
  return {
    verdicts: verdicts.map((verdict) => ({ ...verdict, ...place })),
    missing: missing.map((projection) => ({ projection, partition: place.partition })),
  }
}

const missingText = ({ projection, partition }: Missing): string =>
  `${projection} has no index of partition ${partition}, whose log holds events: a process that folds makes it, or "throughline rebuild ${projection}".`

export const verify: Verb = {
  names: ['PROJECTION|all'],
  usage: '[--workspace W | --sample P]',
  about:
    'folds the log again and compares the result with the index; --sample 0.1 takes a tenth of the workspaces; exit code 0 equal, 1 different or not there, 2 failed',
  options: { workspace: { type: 'string' }, sample: { type: 'string' } },
  failureCode: 2,
  run: async (given) => {
    if (optional(given, 'workspace') !== undefined && optional(given, 'sample') !== undefined)
      throw new UsageError('--workspace compares one workspace and --sample some at random: choose one')
    const workspace = await workspaceOption(given)
    if (!workspace.ok) return workspace
    const { value: workspaceId } = workspace
    // Refused before the first comparison: what was found in earlier partitions would not be shown.
    const refuseOne = async (context: OpenBuilds) =>
      refuseOtherVersions(context, await liveBuilds(context, namesOf(given, context)))
    const verifyOne = (context: OpenBuilds, place: Place) => verifyPartition(given, context, workspaceId, place)
    const partitions = await withBuilds(given, verifyOne, { workspaceId, check: refuseOne })
    const verdicts = partitions.flatMap((of) => of.verdicts)
    const missing = partitions.flatMap((of) => of.missing)
    const equal = missing.length === 0 && verdicts.every((verdict) => verdict.equal)
    const lines = [...verdicts.map(verdictText), ...missing.map(missingText)]
    return ok({
      json: { equal, verdicts: verdicts.map(verdictJson), missing },
      text: lines.length === 0 ? 'No index is there yet, and nothing in the log.' : lines.join('\n'),
      exitCode: equal ? 0 : 1,
    })
  },
}
