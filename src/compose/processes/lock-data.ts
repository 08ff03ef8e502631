import { FolderInUse, lockFolder, type HeldFolder } from '#streams/sqlite/lock.ts'
import { giveUpReserve, tellMissingRoom } from '../reserve.ts'

type Given = Parameters<typeof giveUpReserve>

/**
 * Only one embedded server may use a data folder. Where a full disk has no room for its lock either, the reserve is given up for it; not that of a
 * server that runs there, which does so itself in time.
 */
export async function lockData(...[dataFolder, bounds, tell]: Given): Promise<HeldFolder> {
  try {
    return lockFolder(dataFolder)
  } catch (error) {
    if (error instanceof FolderInUse) throw error
  }
  await giveUpReserve(dataFolder, bounds, tell)
  try {
    return lockFolder(dataFolder)
  } catch (error) {
    tellMissingRoom(dataFolder, bounds, tell)
    throw error
  }
}
