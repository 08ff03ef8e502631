/** Nothing of this process runs for so long, as between SIGSTOP and SIGCONT; the system goes on taking what is sent to it. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
