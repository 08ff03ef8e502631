type Changes = Readonly<Record<string, string | null>>

/** The conditions with some changed: each named one is set once, or removed if it is null. */
export function withConditions(conditions: URLSearchParams, changes: Changes): URLSearchParams {
  const changed = new URLSearchParams(conditions)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) changed.delete(name)
    else changed.set(name, value)
  }
  return changed
}

/** The address of the same search with some of its conditions changed. */
export const addressWith = (path: string, conditions: URLSearchParams, changes: Changes): string =>
  `${path}?${withConditions(conditions, changes).toString()}`
