import { ok } from '#src/lib/result.ts'
import { unknownWorkspace } from './refusals.ts'
import { workspaceJson } from './show.ts'
import type { Verb } from './verb.ts'

export const workspacePlan: Verb = {
  names: ['NAME', 'PLAN'],
  about: 'changes the plan of a workspace, at once',
  writes: true,
  run: async ({ names: [name = '', plan = ''], directory: open }) => {
    const directory = await open()
    const workspace = directory.workspaceNamed(name)
    if (workspace === undefined) return unknownWorkspace(name)
    const changed = await directory.changePlan(workspace.id, plan)
    if (!changed.ok) return changed
    return ok({ json: workspaceJson(changed.value), text: `Workspace ${workspace.name} now has the plan ${plan}.` })
  },
}
