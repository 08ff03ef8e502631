/** Edit distance (insert, delete, replace) between two short texts. */
function distance(a: string, b: string): number {
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i++) {
    const row = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const replaced = (last[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      row.push(Math.min((last[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1, replaced))
    }
    last = row
  }
  return last[b.length] ?? 0
}

/** The known name somebody most likely meant; undefined if none is close (within a third of its length). */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = name.slice(0, 64).toLowerCase()
  const ranked = known.map((other) => ({ other, away: distance(typed, other.toLowerCase()) }))
  const best = ranked.sort((a, b) => a.away - b.away)[0]
  return best !== undefined && best.away <= Math.max(2, Math.ceil(best.other.length / 3)) ? best.other : undefined
}
