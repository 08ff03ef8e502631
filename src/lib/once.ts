/** A function that runs the task at its first call and gives that result from then on. If the task throws, the next call runs it again. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
