// Asks once a second whether anything has arrived, and says so. Without it, the page's own link does the same.
const place = document.querySelector('[data-arrival]')
const pollMs = 1_000
const endsAt = Date.now() + 30 * 60_000

function show({ state, text, link }) {
  place.dataset.state = state
  place.querySelector('[data-text]').textContent = text
  const anchor = place.querySelector('a')
  anchor.href = link.path
  anchor.textContent = link.text
}

/** The link beside it looks again, and leads to sign-in where that is needed. */
const end = (why) => void (place.querySelector('[data-text]').textContent = `This page no longer looks: ${why}.`)

const endings = new Map([
  [401, 'you are signed out'],
  [404, 'its key is not of the workspace that you are in now'],
])

async function poll() {
  try {
    const response = await fetch(place.dataset.arrival, { headers: { accept: 'application/json' } })
    if (response.ok) {
      const arrival = await response.json()
      show(arrival)
      if (arrival.state === 'arrived') return
    } else if (response.status < 429) {
      end(endings.get(response.status) ?? 'its question is no longer answered')
      return
    }
  } catch {
    // The server or the network is away for a moment: the next turn asks again.
  }
  if (Date.now() < endsAt) setTimeout(() => void poll(), pollMs)
  else end('it has waited for half an hour')
}

if (place !== null && place.dataset.state !== 'arrived') void poll()
