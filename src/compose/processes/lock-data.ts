import { FolderInUse, lockFolder, type HeldFolder } from '#streams/sqlite/lock.ts'
import { giveUpReserve, tellMissingRoom } from '../reserve.ts'

type Given = Parameters<typeof giveUpReserve>

/**
 * Locks the data folder, which only one embedded server may use. If a full disk has no room even for the lock, the reserve is given up first; but
 * not the reserve of a server that runs there, which gives it up by itself.
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
