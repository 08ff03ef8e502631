// Puts a button on each value of a record or a span that somebody opens, which copies it. Without it, the text can be selected as any other.
import { copy } from './clipboard.js'

const saidMs = 2_000
/** A part of a value, of which more is kept. */
const isCut = /… \([\d,]+ more characters?\)$/

/** A region of its own: the words of a button are not read out when they change. */
const said = document.createElement('p')
said.className = 'skip'
said.setAttribute('role', 'status')
document.querySelector('main').append(said)

/** A value without the links beside it; items of a list line by line. Undefined where the page has not all of it. */
function valueOf(cell) {
  const shown = cell.cloneNode(true)
  for (const links of shown.querySelectorAll('span, i')) links.remove()
  const items = [...shown.querySelectorAll(':scope > div')]
  const texts = (items.length === 0 ? [shown] : items).map((item) => item.textContent)
  return texts.some((text) => isCut.test(text)) ? undefined : texts.join('\n')
}

function buttonFor(cell) {
  const name = cell.previousElementSibling.textContent
  // Of the row that says how many more fields there are.
  if (name === '…') return
  const value = valueOf(cell)
  if (value === undefined || value.trim() === '') return
  const [button, place] = [document.createElement('button'), document.createElement('span')]
  button.type = 'button'
  button.className = 'quiet'
  /** Its name has the words that it shows, for who speaks to it (WCAG 2.2, 2.5.3). */
  const show = (words) => {
    button.textContent = words
    button.setAttribute('aria-label', `${words} ${name}`)
  }
  show('copy')
  const copyAndSay = async () => {
    // On the page while it is copied: some browsers let only what is selected there be.
    const text = document.createElement('pre')
    text.textContent = value
    said.after(text)
    const words = (await copy(text)) ? 'copied' : 'not copied'
    text.remove()
    said.textContent = words
    show(words)
    setTimeout(() => show('copy'), saidMs)
  }
  button.addEventListener('click', () => void copyAndSay())
  place.append(button)
  cell.append(place)
}

/** Of each that is opened, once. */
const seen = new WeakSet()
function buttonsIn(details) {
  if (!details.open || seen.has(details)) return
  seen.add(details)
  for (const table of details.children) {
    if (table.matches('table.fields')) for (const cell of table.querySelectorAll('td')) buttonFor(cell)
  }
}

// Captured: it does not bubble.
document.addEventListener('toggle', ({ target }) => buttonsIn(target), true)
for (const details of document.querySelectorAll('main details[open]')) buttonsIn(details)
