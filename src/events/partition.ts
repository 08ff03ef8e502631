import { crc32 } from 'node:zlib'
import { present } from '#src/lib/assert.ts'
import type { WorkspaceId } from './workspace-id.ts'

/**
 * Which of `count` partitions holds a workspace: CRC-32 of its id (as in zlib), modulo the count. Stored data depends on it, so neither the
 * function nor an installation's count may ever change.
 */
export const partitionNumber = (workspaceId: WorkspaceId, count: number): number => crc32(workspaceId) % count

/** Finds a workspace's one among things that exist once per partition. */
export type PartitionOf<T> = (workspaceId: WorkspaceId) => T

/** `each`: one per partition, in order of their numbers. */
export const partitionOf =
  <T>(each: readonly T[]): PartitionOf<T> =>
  (workspaceId) =>
    present(each[partitionNumber(workspaceId, each.length)], 'a workspace has a partition')
