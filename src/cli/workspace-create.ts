import { ok } from '#src/lib/result.ts'
import { optional } from './options.ts'
import { workspaceJson } from './show.ts'
import type { Verb } from './verb.ts'

export const workspaceCreate: Verb = {
  names: ['NAME'],
  usage: '[--plan PLAN]',
  about: 'creates a workspace, on the plan free unless another one is named; the README lists the plans',
  options: { plan: { type: 'string' } },
  writes: true,
  run: async (context) => {
    const [name = ''] = context.names
    const directory = await context.directory()
    const created = await directory.createWorkspace({ name, plan: optional(context, 'plan') ?? 'free' })
    if (!created.ok) return created
    const workspace = created.value
    return ok({
      json: workspaceJson(workspace),
      text: `Workspace ${workspace.name} (${workspace.id}), plan ${workspace.plan.name}.`,
    })
  },
}
