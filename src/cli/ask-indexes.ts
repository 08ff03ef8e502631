import type { Progress } from '#projections/index-store.ts'
import { isOperatingFailure } from '#src/lib/failure.ts'
import type { CliServices, IndexProgress } from './services.ts'

/** How far an index is, undefined where there is none yet; or why it could not be read. */
export type Asked = Readonly<{ progress: Progress | undefined; error: string | null }>
/** Of each projection, by name. */
export type AskedIndexes = ReadonlyMap<string, Asked>

/** An index that cannot be read, as after going back to an older program, hides none of the others. */
async function askIndex(index: IndexProgress, projection: string): Promise<Asked> {
  try {
    return { progress: await index.progress(projection), error: null }
  } catch (error) {
    if (isOperatingFailure(error)) return { progress: undefined, error: error.message }
    throw error
  }
}

/** Of each partition. */
export async function askIndexes(services: CliServices, dataFolder: string): Promise<readonly AskedIndexes[]> {
  const indexes = await services.openIndexes(dataFolder)
  try {
    return await Promise.all(
      indexes.map(async (index) => {
        const each = services.projections.map(async (name) => [name, await askIndex(index, name)] as const)
        return new Map(await Promise.all(each))
      }),
    )
  } finally {
    await Promise.all(indexes.map((index) => index.close()))
  }
}
