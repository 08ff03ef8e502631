/** Runs a task while each look at the process's own clock finds it so many milliseconds later, however fast the machine is. */
export async function withSteppingClock<T>(stepMs: number, task: () => Promise<T>): Promise<T> {
  const { now } = performance
  // A whole number, or what lies between two looks would be rounded to a little more or less than their steps.
  let ms = Math.ceil(performance.now())
  performance.now = () => (ms += stepMs)
  try {
    return await task()
  } finally {
    performance.now = now
  }
}
