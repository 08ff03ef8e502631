import { atFault } from './context.ts'
import { html, type Html } from './html.ts'

type Field = Readonly<{
  label: string | Html
  name: string
  value: string
  size?: number
  placeholder?: string
  list?: string
  /** Name of the field that the page's problem is about. */
  wrong: string | undefined
}>

/** A labelled input. The label is a grid, so its words must be one element to stay on one line. */
export const field = ({ label, name, value, size = 16, placeholder = '', list = '', wrong }: Field): Html =>
  html`<label
    ><span>${label}</span>
    <input
      name="${name}"
      value="${value}"
      size="${size}"
      placeholder="${placeholder}"
      list="${list}"
      ${atFault(name === wrong)}
  /></label>`

type Choice = Readonly<{ label: string; name: string; value: string; options: readonly (readonly [string, string])[] }>

export const choice = ({ label, name, value, options }: Choice): Html =>
  html`<label
    >${label}
    <select name="${name}">
      ${options.map(([option, words]) =>
        option === value
          ? html`<option value="${option}" selected>${words}</option>`
          : html`<option value="${option}">${words}</option>`,
      )}
    </select></label
  >`

export const checkbox = (name: string, value: string, words: string, checked: boolean): Html =>
  html`<label class="check"
    >${
      checked
        ? html`<input type="checkbox" name="${name}" value="${value}" checked />`
        : html`<input type="checkbox" name="${name}" value="${value}" />`
    }
    ${words}</label
  >`

/** The datalist for a field whose `list` is this id. */
export const suggestions = (id: string, values: readonly string[]): Html =>
  html`<datalist id="${id}">${values.map((value) => html`<option value="${value}"></option>`)}</datalist>`
