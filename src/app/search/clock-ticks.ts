import { html, type Html } from '../html.ts'

const [secondMs, minuteMs, hourMs, dayMs] = [1_000, 60_000, 3_600_000, 86_400_000]
/** Usual steps of time. */
const stepsMs = [
  ...[1, 5, 10, 15, 30].map((seconds) => seconds * secondMs),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 7, 14, 28].map((days) => days * dayMs),
]
const ticksMax = 4
/** How near to an end, as a share of the whole, a tick may be before a phone cuts its text. Ticks with days are twice as long. */
const marginOf = (wholeMs: number): number => (wholeMs > dayMs ? 0.06 : 0.04)

/** The part of `2026-11-21 12:00:00 UTC` that tells ticks of this step apart. */
function partOf(stepMs: number, wholeMs: number): readonly [from: number, to: number] {
  if (stepMs >= dayMs) return [5, 10]
  if (wholeMs > dayMs) return [5, 16]
  return [11, stepMs < minuteMs ? 19 : 16]
}

/**
 * Ticks at round times below bars over time: at most four, and none for a range below seconds or above half a year. scripts/times.js shows them in
 * the reader's zone.
 */
export function clockTicks(startMs: number, endMs: number): Html {
  const wholeMs = endMs - startMs
  const marginMs = marginOf(wholeMs) * wholeMs
  const [firstMs, lastMs] = [startMs + marginMs, endMs - marginMs]
  const timesOf = (stepMs: number): number => Math.floor(lastMs / stepMs) - Math.ceil(firstMs / stepMs) + 1
  const stepMs = stepsMs.find((each) => timesOf(each) <= ticksMax)
  if (stepMs === undefined || wholeMs <= 0 || timesOf(stepMs) < 1) return html``
  const [from, to] = partOf(stepMs, wholeMs)
  const ticks = Array.from({ length: timesOf(stepMs) }, (_, at) => {
    const ms = (Math.ceil(firstMs / stepMs) + at) * stepMs
    const words = `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
    const x = (((ms - startMs) / wholeMs) * 100).toFixed(2)
    return html`<text x="${x}%" y="1em" data-at="${words}" data-part="${from} ${to}">${words.slice(from, to)}</text>`
  })
  return html`<svg class="clock note" aria-hidden="true">${ticks}</svg>`
}
