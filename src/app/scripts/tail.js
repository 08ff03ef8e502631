// Follows a log search by arrival: asks for what has come since, and puts it above what is shown.
import { showTimes } from './times.js'

const place = document.querySelector('[data-tail]')
const button = document.querySelector('[data-tail-button]')
const words = document.querySelector('[data-tail-words]')
const count = document.querySelector('#results strong')
const pollMs = 2_000
/** Beside those of the last answer. */
const rowsMax = 1_000
let cursor = place?.dataset.cursor ?? ''
let timer
// Of the start that is in force: what an earlier one still waits for is given up, or its rows would come twice.
let following

function add(rows) {
  const template = document.createElement('template')
  // Rows as the server has written them, with everything in them escaped.
  template.innerHTML = `<table><tbody>${rows}</tbody></table>`
  showTimes(template.content)
  const arrived = [...template.content.querySelector('tbody').children]
  place.prepend(...arrived)
  // What the page said of the search when there was less of it.
  document.querySelector('#nothing')?.remove()
  if (count !== null) {
    const counted = Number(place.dataset.count) + arrived.length
    place.dataset.count = counted
    count.textContent = `${counted.toLocaleString('en')} record${counted === 1 ? '' : 's'}`
  }
}

/** Where there are too many rows the oldest go, if they are all below what is in sight; false where they are not. */
function letGo() {
  const tooMany = [...place.rows].slice(rowsMax)
  if (tooMany.length === 0) return true
  const kept = place.rows[rowsMax - 1]
  if (kept.getBoundingClientRect().bottom <= innerHeight) return false
  // Or the keys would begin anew from the top, and so would whoever is read the page.
  if (tooMany.some((row) => row.contains(document.activeElement))) {
    kept.querySelector('summary').focus({ preventScroll: true })
  }
  for (const row of tooMany) row.remove()
  return true
}

function say(text) {
  if (words.textContent !== text) words.textContent = text
}

const away = 'The server does not answer at the moment. What arrives meanwhile is shown when it does.'

const what = 'What arrives meanwhile is shown when'
const reading = `Waiting while a record is open. ${what} it is closed.`
const readingOld = `Waiting while the oldest records are in sight. ${what} they are not.`

/**
 * Makes room for more rows. Not where that is waited for, and then it says why: whoever reads a record keeps it in sight, and rows that come above
 * it would push it away, and far down it would be among those that go.
 */
function makeRoom() {
  if (place.querySelector('details[open]') !== null) return reading
  return letGo() ? undefined : readingOld
}

async function poll(signal) {
  const why = makeRoom()
  if (why !== undefined) {
    say(why)
    timer = setTimeout(() => void poll(signal), pollMs)
    return
  }
  let waitMs = pollMs
  try {
    const response = await fetch(`${place.dataset.tail}&cursor=${encodeURIComponent(cursor)}`, { signal })
    if (response.ok) {
      const arrived = await response.json()
      cursor = arrived.cursor
      if (arrived.rows !== '') add(arrived.rows)
      if (arrived.more) waitMs = 0
      say(arrived.more ? 'Catching up: more has arrived than one answer holds.' : '')
    } else if (response.status < 429) {
      const why = response.status === 401 ? 'you are signed out' : 'the search is no longer answered'
      return stop(`Following has ended: ${why}. Load the page again.`)
    } else say(away)
  } catch {
    // The server or the network is away for a moment: the next turn asks for all that has come since.
    if (!signal.aborted) say(away)
  }
  if (!signal.aborted) timer = setTimeout(() => void poll(signal), waitMs)
}

function start() {
  button.textContent = 'Stop following'
  button.setAttribute('aria-pressed', 'true')
  say('')
  following = new AbortController()
  void poll(following.signal)
}

function stop(why) {
  clearTimeout(timer)
  following.abort()
  following = undefined
  button.textContent = 'Follow'
  button.setAttribute('aria-pressed', 'false')
  say(why)
}

if (place !== null && button !== null) {
  button.hidden = false
  button.addEventListener('click', () => (following === undefined ? start() : stop('')))
}
