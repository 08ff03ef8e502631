import { messageOf, type LogDocument } from '#projections/logs/log-document.ts'
import { withOwnProgress } from '#projections/retention/first-days.ts'
import type { SpanDocument } from '#projections/traces/span-document.ts'
import { TransientError } from '#src/lib/failure.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { everything } from '#test/support/index-fixture.ts'
import { reachReader } from './reach-index.ts'
import { workspaces } from './requests.ts'
import type { Sent } from './senders.ts'
import { pick } from './simulated-index.ts'
import { startMember, type Stage } from './stage.ts'

type Watched = Readonly<{ projection: string; collection: string; nameOf: (document: object) => string }>

/** What senders send is found here, under names of theirs. */
const watched: readonly Watched[] = [
  { projection: 'logs', collection: 'logs', nameOf: (document) => messageOf(document as LogDocument) },
  { projection: 'traces', collection: 'spans', nameOf: (document) => (document as SpanDocument).spanId },
]

const isIn = ({ collection }: Watched, { request }: Sent): boolean =>
  (request.kind === 'spans') === (collection === 'spans')

/** Records that a reader must find of a request, and how often one may come. */
const mustFind = ({ told }: Sent): readonly string[] => told?.request.records.slice(0, told.accepted) ?? []
const mayCome = ({ request, sent }: Sent): number => (request.kind === 'logs' ? sent : 1)

export function countNames(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** What is wrong with what was found, by what senders were told up to a position. */
export function faultsOf(
  found: ReadonlyMap<string, number>,
  sent: Iterable<Sent>,
  position: number,
): readonly string[] {
  const faults: string[] = []
  for (const one of sent) {
    const { request, told } = one
    const times = request.records.map((record) => found.get(record) ?? 0)
    const most = Math.max(...times)
    if (most > mayCome(one)) faults.push(`${request.name} is found ${most} times`)
    if (told === undefined || told.position > position) continue
    const missing = mustFind(one).filter((record) => !found.has(record))
    if (missing.length > 0) faults.push(`${request.name}, told at ${told.position}, misses ${missing.join(', ')}`)
  }
  return faults
}

type Cuts = Readonly<{ powerCuts: () => number }>

/** Reads without pause, as people do: what was acknowledged and is said to be indexed is there, once, and does not go again. */
export function startWatcher(
  stage: Stage,
  sent: ReadonlyMap<string, Sent>,
  { powerCuts }: Cuts,
  isOver: () => boolean,
) {
  const { index, violate, world } = stage
  const { call } = startMember(stage, 'reader')
  const reader = reachReader(index.reader, call)
  const seen = new Map<string, Set<string>>()
  let [looks, cuts] = [0, 0]

  const lookAt = async (what: Watched, workspaceId: WorkspaceId): Promise<void> => {
    const { projection, collection, nameOf } = what
    if (cuts !== powerCuts()) seen.clear()
    cuts = powerCuts()
    const progress = await withOwnProgress(reader, workspaceId, () => '').progress(projection)
    if (progress === undefined) return
    const query = { filter: everything, orderBy: 'timeNs', direction: 'asc', limit: 10_000 } as const
    const hits = await reader.search({ workspaceId, projection, collection }, query)
    const place = `${collection} of ${workspaceId}`
    if (powerCuts() !== cuts) return
    looks++
    const found = countNames(hits.map(({ document }) => nameOf(document)))
    const mine = [...sent.values()].filter((one) => one.request.workspace === workspaceId && isIn(what, one))
    for (const fault of faultsOf(found, mine, progress.position)) {
      violate(`a reader of ${place} in ${progress.index} at ${progress.position}: ${fault}`)
    }
    for (const name of seen.get(place) ?? []) if (!found.has(name)) violate(`a reader of ${place} sees ${name} no more`)
    seen.set(place, new Set(found.keys()))
  }
  const run = async (): Promise<void> => {
    while (!isOver()) {
      for (const what of watched) {
        const workspace = pick(workspaces, stage.chance) as string
        await lookAt(what, workspaceIdOf(workspace)).catch((error: unknown) => {
          if (!(error instanceof TransientError)) throw error
        })
      }
      await world.sleep(stage.chance.below(800))
    }
  }
  return { ended: run(), looks: () => looks }
}
