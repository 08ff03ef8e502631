import { storedBuild, type IndexName, type IndexWriter, type Roster } from '../index-store.ts'
import { foldedBeside } from '../rosters/roster.ts'
import type { BuildFacts } from '../rosters/tidied.ts'
import type { Folding } from './folding.ts'
import { hasLostTail } from './log-tail.ts'

type Sources = Pick<Folding, 'stream' | 'clock'> & Readonly<{ writer: IndexWriter }>

/** Reads what a projector must know of builds beyond their roster. */
export function createBuildFacts({ stream, writer, clock }: Sources) {
  /** As found when a build was first met; that does not change. */
  const lost = new Map<IndexName, boolean>()
  const isOfThisLog = async (index: IndexName): Promise<boolean> =>
    (await writer.checkpoint(index)).epoch === stream.epoch
  const isLost = async (projection: string, index: IndexName): Promise<boolean> => {
    const known = lost.get(index)
    if (known !== undefined) return known
    // Read before the head of the log: another process that folds meanwhile would know of more.
    const build = await storedBuild(writer, projection, index)
    const found = build?.epoch === stream.epoch && (await hasLostTail(stream, build))
    lost.set(index, found)
    return found
  }
  return {
    isOfThisLog,
    /** Of the builds that are folded beside the live one; and of that, as far as it matters to them. */
    async of(projection: string, roster: Roster): Promise<BuildFacts> {
      const beside = foldedBeside(roster)
      const live = beside.length === 0 || roster.live === undefined ? [] : [roster.live]
      const facts = { nowMs: clock(), ofThisLog: new Map<IndexName, boolean>(), lost: new Map<IndexName, boolean>() }
      for (const index of [...live, ...beside]) facts.ofThisLog.set(index, await isOfThisLog(index))
      for (const index of beside) facts.lost.set(index, await isLost(projection, index))
      // Seldom, and it may have to be read from the log.
      if ([...facts.lost.values()].includes(true))
        for (const index of live) facts.lost.set(index, await isLost(projection, index))
      return facts
    },
  }
}
