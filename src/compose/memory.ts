import { totalmem } from 'node:os'

/** The memory of this machine, or of the container that it runs in. In one without a limit, `constrainedMemory` is 0, or more than there is. */
export const memoryBytes = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity)
