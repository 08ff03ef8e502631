/** A task that is done when it is first called for, and no more then. If it throws, it is tried again. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => (made ??= { value: make() }).value
}
