// Follows a log search by arrival: asks for what has come since, and puts it above what is shown.
const place = document.querySelector('[data-tail]')
const button = document.querySelector('[data-tail-button]')
const pollMs = 2_000
const rowsMax = 1_000
let cursor = place?.dataset.cursor ?? ''
let timer

function add(rows) {
  const template = document.createElement('template')
  // Rows as the server has written them, with everything in them escaped.
  template.innerHTML = `<table><tbody>${rows}</tbody></table>`
  place.prepend(...template.content.querySelector('tbody').children)
  while (place.rows.length > rowsMax) place.deleteRow(-1)
}

async function poll() {
  try {
    const response = await fetch(`${place.dataset.tail}&cursor=${encodeURIComponent(cursor)}`)
    if (response.ok) {
      const arrived = await response.json()
      cursor = arrived.cursor
      if (arrived.rows !== '') add(arrived.rows)
    } else if (response.status < 429) return stop()
  } catch {
    // The server or the network is away for a moment: the next turn asks for all that has come since.
  }
  if (timer !== undefined) timer = setTimeout(() => void poll(), pollMs)
}

function start() {
  button.textContent = 'Stop following'
  button.setAttribute('aria-pressed', 'true')
  timer = setTimeout(() => void poll(), 0)
}

function stop() {
  clearTimeout(timer)
  timer = undefined
  button.textContent = 'Follow'
  button.setAttribute('aria-pressed', 'false')
}

if (place !== null && button !== null) {
  button.hidden = false
  button.addEventListener('click', () => (timer === undefined ? start() : stop()))
}
