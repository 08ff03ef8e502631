import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'
import { lengthNs, type Range, type ShownRange } from './shown-range.ts'

const steps = 4

/** The ends of a time line, from which scripts/zoom.js computes the time under the pointer. */
export const forZoom = ({ startNs, endNs }: Range): Html =>
  html`data-zoom data-start="${startNs.toString()}" data-end="${endNs.toString()}"`

/** A time axis above bars, from 0 at the begin of what is shown to its end in even steps. Empty if no time passes. */
export function timeAxis({ shown }: ShownRange): Html {
  const wholeNs = lengthNs(shown)
  if (wholeNs <= 0n) return html``
  const at = (step: number): string => (step === 0 ? '0' : formatDuration((wholeNs * BigInt(step)) / BigInt(steps)))
  const ticks = Array.from({ length: steps }, (_, step) =>
    step < steps - 1
      ? html`<span>${at(step)}</span>`
      : html`<span><span>${at(step)}</span> <span>${at(steps)}</span></span>`,
  )
  return html`<div class="ticks" aria-hidden="true" ${forZoom(shown)}>${ticks}</div>`
}
