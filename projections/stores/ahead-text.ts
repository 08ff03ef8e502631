import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Ahead } from '../index-store.ts'

/** The form in which stores keep it. */
export const formatAhead = ({ behind, ...ahead }: Ahead): string => JSON.stringify({ ...ahead, behind: [...behind] })

/** Undefined if none is stored. */
export function parseAhead(text: unknown): Ahead | undefined {
  if (typeof text !== 'string' || text === '') return undefined
  const { behind, ...ahead } = JSON.parse(text) as Omit<Ahead, 'behind'> & { behind: [WorkspaceId, Position][] }
  return { ...ahead, behind: new Map(behind) }
}
