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

/** What opens a result, or a span. */
const openers =
  'main :is(.logs > tbody > tr > td > details > summary, .traces > tbody > tr > td:nth-child(2) > a:first-child, :is(.sessions, .patterns) > tbody > tr > th > a, .waterfall .line > summary)'

/** To the next one from where the focus is, or, where it is nowhere, from the span that was led to, or that the page is about; or to the one before. */
function step(by) {
  const all = [...document.querySelectorAll(openers)].filter((opener) => opener.checkVisibility())
  const focused = document.activeElement === document.body ? null : document.activeElement
  const opener = (line) => document.querySelector(`${line} > summary`)
  const from = focused ?? opener('.line:target') ?? opener('.line[aria-current]')
  const isAfter = (opener) => (opener.compareDocumentPosition(from) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
  const at = from === null ? -1 : all.findLastIndex((opener) => opener === from || isAfter(opener))
  const next = all[Math.max(0, at + by)]
  next?.focus()
  return next !== undefined
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
  j: () => step(1),
  k: () => step(-1),
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
  if (
    !areOn ||
    ctrlKey ||
    metaKey ||
    altKey ||
    isComposing ||
    (repeat && !'jk'.includes(key)) ||
    target.closest(typing) !== null
  )
    return
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
