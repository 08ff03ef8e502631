import type { Context } from 'koa'
import type { Workspace } from '#src/directory/directory.ts'
import { present } from '#src/lib/assert.ts'
import { sessionHere, type AppContext } from '../context.ts'
import { withConditions } from './conditions.ts'

/**
 * What a search page's address asks: the conditions as typed, and the cursors of the pages up to this one, its own last. `plan`: of the workspace.
 */
export type Asked = Readonly<{ conditions: URLSearchParams; cursors: readonly string[]; plan: Workspace['plan'] }>

/** Parameters whose values are offered. The search accepts them in capitals too, but the page compares them with its own. */
const ofChoice: readonly string[] = ['level', 'status', 'has', 'kind', 'order']

export function readAsked(ctx: Context, { directory }: Pick<AppContext, 'directory'>): Asked {
  const given = [...new URLSearchParams(ctx.querystring)]
    .filter(([, value]) => value !== '')
    .map(([name, value]): [string, string] => [name, ofChoice.includes(name) ? value.toLowerCase() : value])
  const conditions = new URLSearchParams(given.filter(([name]) => name !== 'cursor'))
  const cursors = given.filter(([name]) => name === 'cursor').map(([, cursor]) => cursor)
  const { plan } = present(directory.workspace(sessionHere(ctx).workspaceId), 'a session has a workspace')
  return { conditions, cursors, plan }
}

/** The values of a condition that may be repeated, or given as a comma-separated list. */
export const listed = (conditions: URLSearchParams, name: string): readonly string[] =>
  conditions.getAll(name).flatMap((value) => value.split(',').filter(Boolean))

/** What `has` says of traces that also lack spans. */
export const hasMissingSpans = (conditions: URLSearchParams): string =>
  [...new Set([...listed(conditions, 'has'), 'missing_spans'])].join(',')

/** The query string for the search. */
export function searchOf({ conditions, cursors }: Asked, more: Readonly<Record<string, string>>): string {
  return withConditions(conditions, { ...more, cursor: cursors.at(-1) ?? null }).toString()
}
