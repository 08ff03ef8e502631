/** Runs a task while each look at the process's own clock finds it so many milliseconds later, however fast the machine is. */
export async function withSteppingClock<T>(stepMs: number, task: () => Promise<T>): Promise<T> {
  const { now } = performance
  let ms = performance.now()
  performance.now = () => (ms += stepMs)
  try {
    return await task()
  } finally {
    performance.now = now
  }
}
