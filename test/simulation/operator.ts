import type { BuildContext, BuildPlace } from '#projections/builds/build-place.ts'
import { foldShare, shareName } from '#projections/folding/fold-share.ts'
import type { IndexAudit } from '#projections/index-audit.ts'
import type { IndexWriter } from '#projections/index-store.ts'
import { dropBuild } from '#projections/builds/drop-build.ts'
import { rollBack } from '#projections/builds/roll-back.ts'
import { rebuild, type Rebuilt } from '#projections/builds/rebuild.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import { workspaces } from './requests.ts'
import { pick } from './simulated-index.ts'
import { decode, foldLimits, startMember, type Member, type Stage } from './stage.ts'

type Common = Omit<BuildContext, 'index' | 'scratch'>
type Place = Readonly<{ writer: (share?: string) => IndexWriter; audit: () => IndexAudit }>

/** All workers at once, each with a writer of its own. */
function placeOf(common: Common, { writer, audit }: Place): BuildPlace {
  return {
    writer: () => writer(),
    audit,
    async fold(tasks, onProgress, signal) {
      const work = async (task: (typeof tasks)[number]): Promise<void> => {
        const mine = writer(shareName(task.share))
        try {
          await foldShare(structuredClone(task), {
            ...common,
            writer: mine,
            onProgress: (position) => {
              signal.throwIfAborted()
              onProgress(task.share.number, position)
            },
          })
        } finally {
          await mine.close()
        }
      }
      const ended = await Promise.allSettled(tasks.map(work))
      for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason
    },
  }
}

/** Which process holds which projection for a rebuild: until it lets go, or dies. */
export type Locks = Map<string, Member>

/** What the command line has in hand, run by this process. */
export function contextOf(stage: Stage, member: Member, locks: Locks): BuildContext {
  const { chance, projections } = stage
  const common: Common = {
    stream: member.stream,
    projections,
    decode,
    clock: member.clock,
    timers: member.process.timers,
    limits: foldLimits,
    workers: 1 + chance.below(3),
    firstDays: async () => () => '',
    lock: async (name) => {
      if (locks.get(name)?.process.isAlive() === true) return undefined
      locks.set(name, member)
      return { release: async () => void locks.delete(name) }
    },
  }
  return {
    ...common,
    index: placeOf(common, member),
    scratch: async () => {
      const aside = stage.index.aside()
      const writer = (share?: string): IndexWriter => aside.open(async () => {}, share)
      return { ...placeOf(common, { writer, audit: aside.audit }), remove: () => aside.remove() }
    },
  }
}

export function judgeRebuilt({ violate, world }: Stage, all: readonly Rebuilt[]): void {
  for (const { index, verdict, outcome } of all) {
    world.note(`rebuild of ${index}: ${outcome}`)
    if (!verdict.equal)
      violate(`rebuild of ${index} is not the fold of the log: ${JSON.stringify(verdict.differences[0])}`)
  }
}

/** One thing that an operator does, by chance. */
export async function doSomething(stage: Stage, context: BuildContext): Promise<void> {
  const { chance, projections } = stage
  const one = pick(projections, chance)
  if (one === undefined) return
  const what = chance.below(6)
  if (what === 0) {
    await rollBack(context, one)
  } else if (what === 1) {
    const { writer } = context.index
    const kept = (await writer().roster(one.name)).followed.find(({ as }) => as === 'kept')
    if (kept !== undefined) await dropBuild(context, one, kept.index)
  } else {
    const workspace = pick(workspaces, chance) as string
    const options = what === 2 ? { workspaceId: workspaceIdOf(workspace) } : { keep: what === 3 }
    judgeRebuilt(stage, await rebuild(context, what === 4 ? projections : [one], options))
  }
}

/** What an operator may be told, for all that goes on around it. */
const expected =
  /another rebuild of it is under way|a rebuild of .* is under way|no earlier build of it is kept|readers use it|no such build|was dropped meanwhile|have no build of|are about to move to|begin again/

/** A process of the command line: does one thing after the other until it is over. */
export function startOperator(stage: Stage, name: string, locks: Locks, isOver: () => boolean, act = doSomething) {
  const member = startMember(stage, name)
  const context = contextOf(stage, member, locks)
  const run = async (): Promise<void> => {
    while (!isOver()) {
      try {
        await act(stage, context)
      } catch (error) {
        const known =
          error instanceof TransientError || (error instanceof PermanentError && expected.test(error.message))
        if (!known) stage.violate(`${name} fails: ${String(error)}`)
      }
      await stage.world.sleep(stage.chance.below(3_000))
    }
  }
  return { member, ended: Promise.race([run(), member.process.died]) }
}
