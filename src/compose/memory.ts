import { totalmem } from 'node:os'

/** The memory of this machine, or of the container that it runs in. In one without a limit, `constrainedMemory` is 0, or more than there is. */
export const memoryBytes = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity)

/** What an embedded server takes by itself, whatever is sent. */
const ownBytes = 256 * 1024 * 1024

/**
 * How many bytes of request bodies a process holds at once: a quarter of the memory beyond the server's own, because a body takes more than its size
 * until it is in the log and the indexes. With 1 GiB or more: `most`.
 */
export const bodiesHeld = (most: number, memory: number = memoryBytes()): number =>
  Math.min(most, Math.max(most / 6, Math.floor((memory - ownBytes) / 4)))
