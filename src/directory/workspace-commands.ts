import { directoryWorkspaceId, type DirectoryEvent } from '#src/events/directory.ts'
import { beforeAll, type Position } from '#src/events/envelope.ts'
import { workspaceIdOf, type WorkspaceId } from '#src/events/workspace-id.ts'
import { present } from '#src/lib/assert.ts'
import { ok, type Result } from '#src/lib/result.ts'
import type { Workspace } from './directory.ts'
import type { ErasedWorkspace } from './directory-state.ts'
import { nameKey, normalName } from './normal-form.ts'
import { noSuchWorkspace, refuse, type DirectoryWriter, type Refused } from './directory-writer.ts'
import type { Plans } from './plans.ts'

const nameCharactersMax = 80

export interface WorkspaceCommands {
  /** Names are unique, ignoring case. An erased workspace's name is free again. */
  createWorkspace(wanted: Readonly<{ name: string; plan: string }>): Promise<Result<Workspace, Refused>>
  /** Takes effect at once in every process. Usage above a new, lower limit is kept. */
  changePlan(id: WorkspaceId, plan: string): Promise<Result<Workspace, Refused>>
  /**
   * Ends the workspace for good, in every process within a second: its keys stop working and nobody sees it. Its data is then erased from
   * log and indexes (projections/retention/erase-workspace.ts). Idempotent.
   */
  eraseWorkspace(id: WorkspaceId): Promise<Result<ErasedWorkspace, Refused>>
}

const hasControlCharacters = (text: string): boolean => /\p{Cc}/u.test(text)

/** What is wrong with a displayed name; undefined if it is acceptable. */
export function nameProblem(name: string, what: string): string | undefined {
  if (name === '') return `The ${what} must not be empty.`
  if (name.length > nameCharactersMax) return `The ${what} may have at most ${nameCharactersMax} characters.`
  if (hasControlCharacters(name)) return `The ${what} must not have control characters.`
  return undefined
}

export function workspaceCreated(
  { newId }: Pick<DirectoryWriter, 'newId'>,
  name: string,
  plan: string,
): Extract<DirectoryEvent, { type: 'directory.workspace.created' }> {
  return { type: 'directory.workspace.created', workspaceId: workspaceIdOf(newId('w')), name, plan }
}

export function createWorkspaceCommands(writer: DirectoryWriter, plans: Plans): WorkspaceCommands {
  const { view, write, writeFirst } = writer
  const unknownPlan = (plan: string) =>
    refuse('unknown', 'plan', `There is no plan ${JSON.stringify(plan)}; known: ${Object.keys(plans).join(', ')}.`)
  /** The position where the last workspace of this name was erased. */
  const freeSince = (name: string): Position => {
    const former = view.erasedWorkspaces().filter((one) => nameKey(one.name) === nameKey(name))
    return Math.max(beforeAll, ...former.map(({ position }) => position))
  }

  return {
    createWorkspace: async (wanted) => {
      const name = normalName(wanted.name)
      const problem = nameProblem(name, 'name of a workspace')
      if (problem !== undefined) return refuse('invalid', 'name', problem)
      if (!Object.hasOwn(plans, wanted.plan)) return unknownPlan(wanted.plan)
      const taken = refuse('exists', 'name', `There is a workspace ${JSON.stringify(name)} already.`)
      if (view.workspaceNamed(name) !== undefined || nameKey(name) === directoryWorkspaceId) return taken
      const event = workspaceCreated(writer, name, wanted.plan)
      const written = await writeFirst([event], freeSince(name))
      return written.ok ? ok(present(view.workspace(event.workspaceId), 'a created workspace is in the view')) : taken
    },
    changePlan: async (id, plan) => {
      const workspace = view.workspace(id)
      if (workspace === undefined) return noSuchWorkspace
      if (!Object.hasOwn(plans, plan)) return unknownPlan(plan)
      if (workspace.plan.name !== plan) {
        await write([{ type: 'directory.workspace.planChanged', workspaceId: id, plan, from: workspace.plan.name }])
      }
      const changed = view.workspace(id)
      return changed === undefined ? noSuchWorkspace : ok(changed)
    },
    eraseWorkspace: async (id) => {
      const workspace = view.workspace(id)
      if (workspace !== undefined) {
        await write([{ type: 'directory.workspace.erased', workspaceId: id, name: workspace.name, by: null }])
      }
      const found = view.erasedWorkspaces().find((one) => one.id === id)
      return found === undefined ? noSuchWorkspace : ok(found)
    },
  }
}
