// Single keys for what is done most. Whoever speaks to a browser, or hits keys by accident, can switch them off (WCAG 2.2, 2.1.4).
import { recall, remember } from './remember.js'

const name = 'shortcuts'
const place = document.querySelector('[data-shortcuts]')
const help = document.querySelector('details.help')
let areOn = recall(name) !== 'off'

/** A link to another match of a search within a trace. */
function follow(match) {
  const link = document.querySelector(`[data-match=${match}]`)
  link?.click()
  return link !== null
}

const deeds = {
  '/'() {
    const field = document.querySelector('main input[type=search]')
    field?.focus()
    field?.select()
    return field !== null
  },
  '?'() {
    if (help === null) return false
    help.open = true
    help.querySelector('summary').focus()
    return true
  },
  n: () => follow('next'),
  p: () => follow('previous'),
  f() {
    const button = document.querySelector('[data-tail-button]')
    button?.click()
    return button !== null
  },
}

/** Where a key is a character, or chooses an option. */
const typing = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'

document.addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, metaKey, altKey, isComposing, repeat } = event
  if (!areOn || ctrlKey || metaKey || altKey || isComposing || repeat || target.closest(typing) !== null) return
  // The key must not arrive in the field that it leads to.
  if (Object.hasOwn(deeds, key) && deeds[key]()) event.preventDefault()
})

if (place !== null) {
  const box = place.querySelector('input')
  place.hidden = false
  box.checked = areOn
  box.addEventListener('change', () => {
    areOn = box.checked
    remember(name, areOn ? 'on' : 'off')
  })
}
