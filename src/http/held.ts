/** A timer that fires so much too late, in ms, was held up with all of its process, as by SIGSTOP: what came meanwhile has not been read yet. */
export const heldMs = 1_000

/** Whether this process has just been held up; not any more when it has read on. */
export function watchHeld(): Readonly<{ isHeld(): boolean; end(): void }> {
  let readAt = performance.now()
  // A turn's timers come first, then what can be read, then this.
  const timer = setInterval(() => setImmediate(() => (readAt = performance.now())), heldMs)
  timer.unref()
  return { isHeld: () => performance.now() - readAt > 2 * heldMs, end: () => clearInterval(timer) }
}
