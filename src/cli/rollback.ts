import { isBack, rollBack, wayBack } from '#projections/builds/roll-back.ts'
import type { Projection } from '#projections/projection.ts'
import { ok } from '#src/lib/result.ts'
import type { OpenBuilds } from './services.ts'
import type { Verb } from './verb.ts'
import { inPartition, projectionsNamed, withAllBuilds } from './with-builds.ts'

/** `isBack`: whether readers have gone back; undefined if no build is kept. */
type Asked = Readonly<{ builds: OpenBuilds; projection: Projection; isBack: boolean | undefined }>

type Moved = Readonly<{ projection: string; partition: string; index: string; former: string }>

async function askAll(partitions: readonly OpenBuilds[], name: string): Promise<readonly Asked[]> {
  const all = partitions.flatMap((builds) =>
    projectionsNamed(builds, name).map((projection) => ({ builds, projection })),
  )
  return Promise.all(
    all.map(async ({ builds, projection }) => ({
      builds,
      projection,
      isBack: await inPartition(partitions, builds, (each) => isBack(each, projection)),
    })),
  )
}

/**
 * Those that go back now, of all that are asked to. If an interrupted call has moved some, only the others go: a second move would return the first
 * ones to what they left.
 */
function movable(asked: readonly Asked[]): readonly Asked[] {
  const able = asked.filter((one) => one.isBack !== undefined)
  const ahead = able.filter((one) => one.isBack === false)
  if (ahead.length > 0) return ahead
  return able.length === 0 ? asked : able
}

async function moveAll(partitions: readonly OpenBuilds[], name: string) {
  const asked = await askAll(partitions, name)
  const able = movable(asked)
  // Throws before any has moved.
  const ways = await Promise.all(
    able.map(async ({ builds, projection }) => ({
      builds,
      projection,
      way: await inPartition(partitions, builds, (each) => wayBack(each, projection)),
    })),
  )
  const moved: Moved[] = []
  for (const { builds, projection, way } of ways) {
    const gone = await inPartition(partitions, builds, (each) => rollBack(each, projection, way))
    moved.push({ projection: projection.name, partition: builds.stream.partition, ...gone })
  }
  return { moved, isOneOfMany: partitions.length > 1, staying: asked.filter((one) => !able.includes(one)) }
}

const whyItStays = ({ projection: { name }, isBack: back }: Asked): string =>
  `${name} stays: ${back === undefined ? 'no earlier build of it is kept' : 'its readers have gone back already'}.`

export const rollback: Verb = {
  names: ['PROJECTION|all'],
  about: 'moves readers back to the build that they used before; that has been folded since, so it is just as fresh',
  writes: true,
  run: async (given) => {
    const { moved, isOneOfMany, staying } = await withAllBuilds(given, (partitions) =>
      moveAll(partitions, given.names[0] ?? ''),
    )
    const lines = [
      ...moved.map(
        ({ index, partition, former }) =>
          `Readers use ${index} again${isOneOfMany ? ` in partition ${partition}` : ''}; ${former} is kept.`,
      ),
      ...new Set(staying.map(whyItStays)),
    ]
    return ok({ json: { moved }, text: lines.join('\n') })
  },
}
