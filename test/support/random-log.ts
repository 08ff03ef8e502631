import type { BuildContext } from '#projections/builds/build-place.ts'
import { foldShares } from '#projections/builds/fold-shares.ts'
import { buildName } from '#projections/rosters/build-name.ts'
import { changeRoster, nominate } from '#projections/rosters/roster.ts'
import type { Stream } from '#streams/stream.ts'
import { createRandom } from './random.ts'
import { lineEvent } from './line-projections.ts'

export const workspaces = ['acme', 'other', 'third']
const words = ['alpha', 'beta', 'gamma delta', 'epsilon', '支付失败', 'path/to/file.ts:12']

/** Events from one number up to another, of three workspaces. */
export async function appendRandom(stream: Stream, from: number, to: number): Promise<void> {
  const random = createRandom(from + 1)
  for (let n = from; n < to; n++) {
    const lines = Array.from({ length: 1 + random.below(4) }, () => random.pick(words))
    await stream.append([lineEvent(n, lines, random.pick(workspaces))])
  }
}

/** Builds that readers use, folded to the head of the log. */
export async function foldLive(context: BuildContext): Promise<void> {
  const until = await context.stream.head()
  const builds = context.projections.map((projection) => ({
    projection: projection.name,
    index: buildName(projection, 1),
    after: 0,
    until,
  }))
  await foldShares(context, context.index, builds)
  const writer = context.index.writer()
  for (const { projection, index } of builds) await changeRoster(writer, projection, nominate(index))
  await writer.close()
}
