import { eraseWorkspace } from '#projections/retention/erase-workspace.ts'
import { TransientError } from '#src/lib/failure.ts'
import { leaving } from './requests.ts'
import { startMember, type Member, type Stage } from './stage.ts'

const beginsWithinMs = 10_000
/** How long there may be processes that have not heard of it. */
const heardWithinMs = 3_000
const againMs = 2_000

/** A process that erases one workspace at some time, is broken off at times, and looks again for what came late, as the product does. */
export function startEraser(stage: Stage, name: string) {
  const { chance, projections, world } = stage
  const state = { isOver: false, heardAt: Infinity }
  const eraseOnce = async (member: Member): Promise<boolean> => {
    try {
      const { stream, clock } = member
      return await eraseWorkspace({ stream, projections, clock, newId: stage.newId }, leaving)
    } catch (error) {
      if (!(error instanceof TransientError)) stage.violate(`${name} fails: ${String(error)}`)
      return false
    }
  }
  const run = async (): Promise<void> => {
    await world.sleep(chance.below(beginsWithinMs))
    world.note(`${leaving} is erased`)
    state.heardAt = world.now() + chance.below(heardWithinMs)
    while (!state.isOver) {
      const member = startMember(stage, name)
      const erased = eraseOnce(member)
      if (chance.happens(0.3)) {
        await world.sleep(chance.below(200))
        member.process.die()
      } else await erased
      await world.sleep(chance.below(againMs))
    }
  }
  const ended = run()
  return {
    /** Whether who sends to the workspace is refused. */
    isRefused: (workspace: string): boolean => workspace === leaving && world.now() >= state.heardAt,
    /** Erases what is left when nobody sends any more. */
    async finish(): Promise<void> {
      state.isOver = true
      await ended
      const last = startMember(stage, `${name}-last`)
      for (let round = 1; !(await eraseOnce(last)); round++) {
        if (round === 20) return stage.violate(`${name} comes to no end`)
        await world.sleep(againMs)
      }
    },
  }
}
