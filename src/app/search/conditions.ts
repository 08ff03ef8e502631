type Changes = Readonly<Record<string, string | null>>

/** The conditions of a search with some of them changed: each of these names is given once, or, where it is null, not at all. */
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
