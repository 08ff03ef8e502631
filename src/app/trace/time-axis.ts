import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'

const steps = 4

/** A time axis above bars, from 0 to the whole in even steps. Empty if the whole is 0. */
export function timeAxis(wholeNs: bigint): Html {
  if (wholeNs <= 0n) return html``
  const at = (step: number): string => (step === 0 ? '0' : formatDuration((wholeNs * BigInt(step)) / BigInt(steps)))
  const ticks = Array.from({ length: steps }, (_, step) =>
    step < steps - 1
      ? html`<span>${at(step)}</span>`
      : html`<span><span>${at(step)}</span> <span>${at(steps)}</span></span>`,
  )
  return html`<div class="ticks" aria-hidden="true">${ticks}</div>`
}
