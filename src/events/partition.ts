import { crc32 } from 'node:zlib'
import { present } from '#src/lib/assert.ts'
import type { WorkspaceId } from './workspace-id.ts'

/**
 * Which of `count` partitions holds a workspace: CRC-32 of its id (as zlib has it), modulo the count. What is stored goes by
 * it, so it may never change, and neither may the count of an installation.
 */
export const partitionNumber = (workspaceId: WorkspaceId, count: number): number => crc32(workspaceId) % count

/** What is there once a partition, found by workspace. */
export type PartitionOf<T> = (workspaceId: WorkspaceId) => T

/** `each`: one for each partition, in order of their numbers. */
export const partitionOf =
  <T>(each: readonly T[]): PartitionOf<T> =>
  (workspaceId) =>
    present(each[partitionNumber(workspaceId, each.length)], 'a workspace has a partition')
