import assert from 'node:assert/strict'
import type { IndexName, IndexWriter } from '#projections/index-store.ts'

/** Readers of the projection move to this build. */
export async function promote(writer: IndexWriter, projection: string, index: IndexName): Promise<void> {
  const roster = await writer.roster(projection)
  assert(await writer.changeRoster(projection, { ...roster, live: index }), 'nobody else changes the roster')
}

/** The build that readers use. */
export const liveOf = async (writer: IndexWriter, projection: string): Promise<IndexName | undefined> =>
  (await writer.roster(projection)).live
