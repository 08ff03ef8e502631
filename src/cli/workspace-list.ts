import { ok } from '#src/lib/result.ts'
import { isoTime, table, workspaceJson } from './show.ts'
import type { Verb } from './verb.ts'

export const workspaceList: Verb = {
  about: 'lists the workspaces',
  run: async ({ directory: open }) => {
    const workspaces = (await open()).workspaces()
    const rows = workspaces.map(({ id, name, plan, createdAt }) => [name, id, plan.name, isoTime(createdAt) ?? ''])
    return ok({
      json: { workspaces: workspaces.map(workspaceJson) },
      text: table([['NAME', 'ID', 'PLAN', 'CREATED'], ...rows]),
    })
  },
}
