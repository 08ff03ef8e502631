/** If a timer fires this late, in ms, the whole process was held up, as by SIGSTOP: what has come meanwhile is not read yet. */
export const heldMs = 1_000

/** Tells whether this process has just been held up; no longer once it has read what came meanwhile. */
export function watchHeld(): Readonly<{ isHeld(): boolean; end(): void }> {
  let readAt = performance.now()
  // A turn's timers come first, then what can be read, then this.
  const timer = setInterval(() => setImmediate(() => (readAt = performance.now())), heldMs)
  timer.unref()
  return { isHeld: () => performance.now() - readAt > 2 * heldMs, end: () => clearInterval(timer) }
}
