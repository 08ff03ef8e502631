import { html, type Html } from '../../html.ts'

/** The range of some times, ms. */
export type Within = Readonly<{ fromMs: number; toMs: number }>

export const withinOf = (times: readonly number[]): Within => ({
  fromMs: times.reduce((first, time) => Math.min(first, time), Infinity),
  toMs: times.reduce((last, time) => Math.max(last, time), -Infinity),
})

const bars = 24

/** Counts times in 24 parts of equal length; all are in the first part if they are equal. */
export function countsOver(times: readonly number[], { fromMs, toMs }: Within): readonly number[] {
  const counts = Array.from({ length: bars }, () => 0)
  for (const time of times) {
    const share = toMs > fromMs ? (time - fromMs) / (toMs - fromMs) : 0
    const at = Math.min(bars - 1, Math.floor(share * bars))
    counts[at] = (counts[at] ?? 0) + 1
  }
  return counts
}

const height = 16

/** Bars relative to the highest of them: they show when, not how many. */
export function trend(times: readonly number[], within: Within): Html {
  const counts = countsOver(times, within)
  const highest = Math.max(1, ...counts)
  const drawn = counts.map((count, at) => {
    if (count === 0) return html``
    const tall = Math.max(2, Math.round((count / highest) * height))
    return html`<rect x="${at}" y="${height - tall}" width="0.8" height="${tall}" />`
  })
  return html`<svg class="bar" viewBox="0 0 ${bars} ${height}" preserveAspectRatio="none" aria-hidden="true">
    ${drawn}
  </svg>`
}
