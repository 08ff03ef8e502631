import { formatDuration } from '../format.ts'
import { html, type Html } from '../html.ts'

const steps = 4

/** Time from nothing to the whole in even steps, above bars that lie in it. Nothing where there is no time between. */
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
