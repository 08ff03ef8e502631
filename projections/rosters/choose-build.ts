import { PermanentError } from '#src/lib/failure.ts'
import type { IndexName, IndexWriter, Roster } from '../index-store.ts'
import type { Projection } from '../projection.ts'
import { buildName, buildNumber, buildVersion } from './build-name.ts'
import { followedAs, isGone } from './roster.ts'

/** Throws PermanentError if readers use a build of a later version: this program cannot fold it, and may not be able to read it. */
function refuseDowngrade({ name, version }: Projection, live: IndexName | undefined): void {
  if (live === undefined || buildVersion(live) <= version) return
  throw new PermanentError({
    operation: 'fold',
    subject: live,
    hint: `this program folds version ${version} of ${name}: start the newer program; or run rollback ${name} of this one, or rebuild ${name}`,
  })
}

/** The build of this version that readers left last, where they went back to an earlier program. */
const leftByReaders = ({ followed }: Roster, projection: Projection): IndexName | undefined =>
  followed.findLast(
    ({ index, as, lost }) => as === 'kept' && lost !== true && buildNumber(projection, index) !== undefined,
  )?.index

/**
 * The build to fold a log into: the live one if it is of this version and this log, otherwise the one that readers left for an earlier
 * program's, otherwise the next one that is, or that does not exist yet. A build of another log (recreated, or moved), or one that a rebuild
 * has begun, is left as it is. Throws PermanentError if the live build is of a later version.
 */
export async function chooseBuild(
  writer: Pick<IndexWriter, 'roster' | 'checkpoint'>,
  projection: Projection,
  epoch: string,
): Promise<IndexName> {
  const roster = await writer.roster(projection.name)
  const { live } = roster
  refuseDowngrade(projection, live)
  const number = live === undefined ? undefined : buildNumber(projection, live)
  const left = number === undefined ? leftByReaders(roster, projection) : undefined
  if (left !== undefined && (await writer.checkpoint(left)).epoch === epoch) return left
  for (let build = number ?? 1; ; build++) {
    const index = buildName(projection, build)
    if (isGone(roster, index) || !['candidate', undefined].includes(followedAs(roster, index))) continue
    const checkpoint = await writer.checkpoint(index)
    if (checkpoint.epoch === '' || checkpoint.epoch === epoch) return index
  }
}

/** The name of the next build: after all builds of this version that exist or existed. */
export async function nextBuild(
  writer: Pick<IndexWriter, 'builds' | 'roster' | 'checkpoint'>,
  projection: Projection,
): Promise<IndexName> {
  const { live, followed } = await writer.roster(projection.name)
  const known = [...(await writer.builds(projection.name)), ...followed].map(({ index }) => index)
  const numbers = [...known, live ?? ''].map((index) => buildNumber(projection, index) ?? 0)
  for (let build = Math.max(...numbers) + 1; ; build++) {
    const index = buildName(projection, build)
    if ((await writer.checkpoint(index)).epoch === '') return index
  }
}
