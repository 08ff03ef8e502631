import { foldedBy, type Roster, type StoredBuild } from '#projections/index-store.ts'
import { followedBuild } from '#projections/rosters/roster.ts'
import { ok } from '#src/lib/result.ts'
import { isoTime, table } from './show.ts'
import type { OpenBuilds } from './services.ts'
import type { Verb } from './verb.ts'
import { withBuilds } from './with-builds.ts'

function stateOf(roster: Roster, index: string): string {
  if (roster.live === index) return 'live'
  const { as = 'unused', lost = false } = followedBuild(roster, index) ?? {}
  return lost ? 'lost' : as
}

function buildJson(roster: Roster, build: StoredBuild, partition: string, head: number) {
  const { index, after } = build
  const position = foldedBy(build)
  const { untilMs, heldSinceMs } = followedBuild(roster, index) ?? {}
  return {
    build: index,
    partition,
    state: stateOf(roster, index),
    position,
    lag: Math.max(0, head - position),
    after,
    kept_until: isoTime(untilMs ?? null),
    log_held_since: isoTime(heldSinceMs ?? null),
  }
}

async function buildsOf({ projections, index, stream }: OpenBuilds) {
  const writer = index.writer()
  try {
    const head = await stream.head()
    const found: ReturnType<typeof buildJson>[] = []
    for (const { name } of projections) {
      const roster = await writer.roster(name)
      for (const build of await writer.builds(name)) found.push(buildJson(roster, build, stream.partition, head))
    }
    return found
  } finally {
    await writer.close()
  }
}

export const builds: Verb = {
  about:
    'lists the builds of each index: which one readers use, which are kept to roll back to, how far each has been folded, and since when one that nobody folds keeps the log from being cut',
  run: async (given) => {
    const all = (await withBuilds(given, buildsOf)).flat()
    const rows = all.map((one) => [
      one.build,
      one.partition,
      one.state,
      String(one.position),
      String(one.lag),
      one.kept_until ?? '',
      one.log_held_since ?? '',
    ])
    const text = table([['BUILD', 'PARTITION', 'STATE', 'POSITION', 'LAG', 'KEPT UNTIL', 'LOG HELD SINCE'], ...rows])
    return ok({ json: { builds: all }, text })
  },
}
