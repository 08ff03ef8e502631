/** Edit distance (insert, delete, replace, swap of neighbours) between two short texts. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1)
      row.push(best)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}

/** The known name that somebody most likely meant; undefined when none is close (a third of its length). */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const typed = name.slice(0, 64).toLowerCase()
  const ranked = known.map((other) => ({ other, away: distance(typed, other.toLowerCase()) }))
  const best = ranked.sort((a, b) => a.away - b.away)[0]
  return best !== undefined && best.away <= Math.max(2, Math.ceil(best.other.length / 3)) ? best.other : undefined
}
