import { inWords } from './context.ts'
import { percentOf } from './format.ts'
import { html, type Html } from './html.ts'

/** The number that failed, with its share of all. */
export const failedShare = (failed: number, all: number): Html =>
  failed === 0 ? html`0` : html`<span class="bad">${inWords(failed)} <small>${percentOf(failed, all)}</small></span>`
