import { keyKindNames, keyPrefixes } from '#src/directory/keys.ts'
import type { Connection, Filled, Guide, Step } from '../guides/guide.ts'
import { html, type Html } from '../html.ts'

export const connectPath = '/app/connect'

function stepOf(step: Step): Html {
  if (step.kind === 'text') return html`<li>${step.text}</li>`
  if (step.kind === 'file') {
    return html`<li>
      ${step.text} File <code>${step.file}</code>:
      <pre data-step="file" data-file="${step.file}">${step.code}</pre>
    </li>`
  }
  return html`<li>
    ${step.text}
    <pre data-step="${step.kind}">${step.code}</pre>
  </li>`
}

export const stepsOf = ({ id, steps }: Guide, filled: Filled): Html =>
  html`<ol class="steps" data-guide="${id}">
    ${steps(filled).map(stepOf)}
  </ol>`

/** Stands for the secret in steps for somebody who already has a key: it cannot be shown again. */
export const placeholderOf = ({ keyKind }: Connection): string => `${keyPrefixes[keyKind]}YOUR_KEY`

const linkTo = ({ id }: Connection, guide: Guide): Html =>
  html`<a href="${connectPath}?what=${id}&steps=${guide.id}">${guide.name}</a> `

/** Links to the steps without making a key, for somebody who only reads them or has one. */
export const stepsLinks = (connection: Connection): Html =>
  html`<h2>Only the steps, for a key that you have</h2>
    <nav class="tabs" aria-label="Steps without a new key">
      ${connection.guides.map((guide) => linkTo(connection, guide))}
    </nav>`

/** The steps without a new key. */
export function stepsWithout(connection: Connection, guide: Guide, filled: Filled): Html {
  const { id, keyKind, guides } = connection
  return html`<p class="notice">
      Put your ${keyKindNames[keyKind]} where <code>${filled.secret}</code> stands, or
      <a href="${connectPath}?what=${id}">create one that is filled in</a>.
    </p>
    <h2>${guide.name}</h2>
    ${stepsOf(guide, filled)}
    <h2>Other ways</h2>
    <nav class="tabs" aria-label="Other ways">
      ${guides.filter((other) => other !== guide).map((other) => linkTo(connection, other))}
    </nav>`
}
