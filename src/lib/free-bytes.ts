/** Smaller ones are left to the garbage collector, and may be slices of a pool that others have slices of as well. */
const freedBytesMin = 16 * 1024

/**
 * Gives the memory of bytes back at once that nobody reads again; every view of them is empty from now on. The garbage
 * collector counts memory outside its heap toward its next run: bodies left to it cost a run through the whole heap every 50
 * or so. Only for bytes that fill their buffer (but for some room at its end): others may have slices of it.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer, byteOffset, byteLength } = bytes
  const isWhole = byteOffset === 0 && byteLength >= freedBytesMin && byteLength * 2 > buffer.byteLength
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
