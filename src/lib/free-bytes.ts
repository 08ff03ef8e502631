/** Smaller buffers are left to the garbage collector; they may be slices of a shared pool. */
const freedBytesMin = 16 * 1024

/**
 * Frees the memory of bytes at once, when nobody will read them again: every view of them becomes empty. The garbage collector counts
 * memory outside its heap toward its next run, so bodies left to it cost a full collection every 50 or so. Only for bytes that fill their
 * buffer (except some room at its end): others may hold slices of it.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer, byteOffset, byteLength } = bytes
  const isWhole = byteOffset === 0 && byteLength >= freedBytesMin && byteLength * 2 > buffer.byteLength
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Joins the chunks, which are `bytes` long together. Each is freed as soon as it is copied, so that no byte is held twice for long. */
export function joinBytes(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const joined = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const [index, chunk] of chunks.entries()) {
    joined.set(chunk, at)
    at += chunk.length
    // Unless the next is a slice of the same buffer.
    if (chunks[index + 1]?.buffer !== chunk.buffer) freeBytes(chunk)
  }
  return joined
}
