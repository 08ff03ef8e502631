import type { Position } from '#src/events/envelope.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Digest, IndexAudit, Part } from '../index-audit.ts'
import type { IndexName } from '../index-store.ts'
import type { BuildPlace, PartDigests } from './build-place.ts'

/**
 * Digests of an index's parts that another worker makes while the log is folded to compare them with. They hold for a part that has not been
 * written to since.
 */
export type DigestsAhead = Readonly<{
  /** The digests of a part at this position, if that worker has read it so, or is just reading it. Else it will not any more. */
  take(index: IndexName, part: Part, position: Position): Promise<readonly Digest[] | undefined>
  /** No further part is begun. */
  end(): void
}>

const nothingAhead: DigestsAhead = { take: async () => undefined, end: () => {} }

const nameOf = (index: IndexName, { workspaceId, day }: Part): string => `${index}/${workspaceId}/${day}`

/** Begins with the parts of these builds, one after the other. */
export function createDigestsAhead(
  { digests }: Pick<BuildPlace, 'digests'>,
  audit: IndexAudit,
  indexes: readonly IndexName[],
  takes: (workspaceId: WorkspaceId) => boolean,
): DigestsAhead {
  if (digests === undefined) return nothingAhead
  const asked = new Map<string, Promise<PartDigests | undefined>>()
  let isEnded = false
  const readAll = async (): Promise<void> => {
    for (const index of indexes) {
      for (const part of await audit.parts(index)) {
        const name = nameOf(index, part)
        if (isEnded) return
        if (!takes(part.workspaceId) || asked.has(name)) continue
        // Whoever compares the part reads it himself then, and meets the same failure or none.
        const made = digests(index, part).catch(() => undefined)
        asked.set(name, made)
        await made
      }
    }
  }
  // What it could not list is not ahead.
  readAll().catch(() => {})
  return {
    async take(index, part, position) {
      const name = nameOf(index, part)
      const made = await asked.get(name)
      asked.set(name, Promise.resolve(undefined))
      return made?.position === position ? made.digests : undefined
    },
    end: () => void (isEnded = true),
  }
}
