const isSwap = (a: string, b: string, i: number, j: number): boolean =>
  i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j]

/** Edits (insert, delete, replace, swap two neighbours) from one short text to another. */
function distance(a: string, b: string): number {
  let before: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const replaced = (last[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      const swapped = isSwap(a, b, i, j) ? (before[j - 1] ?? 0) + 1 : replaced
      row.push(Math.min((last[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1, replaced, swapped))
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

/**
 * The known name that somebody most likely meant; undefined if none is close. Close is within a third of its length in edits, and with at least half
 * of the shorter name unchanged: otherwise any word of two letters would mean `os`.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = name.slice(0, 64).toLowerCase()
  const awayMax = ({ length }: string): number =>
    Math.min(Math.max(2, Math.ceil(length / 3)), Math.min(typed.length, length) / 2)
  const [best] = known
    // Each character more or less costs an edit, so most names need no comparison: those that senders choose may be long, and many.
    .filter((other) => Math.abs(other.length - typed.length) <= awayMax(other))
    .map((other) => ({ other, away: distance(typed, other.toLowerCase()) }))
    .filter(({ other, away }) => away <= awayMax(other))
    .sort((a, b) => a.away - b.away)
  return best?.other
}
