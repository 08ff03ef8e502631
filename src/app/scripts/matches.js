// Goes from match to match of a search within a trace on the page that is there, which may have a thousand spans. Without it, as where the page
// has not the span, each is a page anew. The address is that of the span either way.
const status = document.querySelector('[data-matches]')
const allLines = [...document.querySelectorAll('.waterfall .line')]
const lines = allLines.filter((line) => line.querySelector(':scope > summary mark') !== null)
const idOf = (line) => line.id.replace('span-', '')

/** That of a match of this page, or of the one before its first or after its last. */
function addressOf(at) {
  if (at < 0) return status.dataset.previous
  if (at >= lines.length) return status.dataset.next
  const url = new URL(location.href)
  url.searchParams.delete('cursor')
  url.searchParams.set('span', idOf(lines[at]))
  url.hash = lines[at].id
  return url.href
}

function linkTo(at, kind, words) {
  const address = addressOf(at)
  if (address === undefined) return []
  const link = document.createElement('a')
  link.href = address
  link.dataset.match = kind
  link.setAttribute('aria-keyshortcuts', kind[0])
  link.textContent = words
  return [link, ' ']
}

/** Says which match it is, and leads to those beside it. */
function tell(at) {
  const { count, before, of } = status.dataset
  const words = at < 0 ? count : `${(Number(before) + at + 1).toLocaleString('en')} of ${of} matches.`
  const beside = [
    ...linkTo(at < 0 ? -1 : at - 1, 'previous', 'Previous match'),
    ...linkTo(at + 1, 'next', 'Next match'),
  ]
  status.replaceChildren(words, ' ', ...beside, status.lastElementChild)
}

/** What leads back to the span that the page is about leads to this one. */
function lead(from, to) {
  for (const link of document.querySelectorAll('main :is(.tabs a, .zoom a, a[rel=next])')) {
    const address = link.getAttribute('href')
    if (link.textContent === 'The span') link.setAttribute('href', `#span-${to}`)
    else if (from !== undefined) link.setAttribute('href', address.replace(`span=${from}`, `span=${to}`))
  }
}

function open(line) {
  line.setAttribute('aria-current', 'true')
  line.open = true
  for (let fold = line.parentElement; fold !== null; fold = fold.parentElement) {
    if (fold.matches('details')) fold.open = true
  }
}

function close(line) {
  line.removeAttribute('aria-current')
  line.open = false
}

/** Opens the span that the address names as the server would, be it a match or not, and closes the one before. */
function show() {
  const wanted = new URLSearchParams(location.search).get('span')
  const line = allLines.find((each) => idOf(each) === wanted)
  const before = allLines.find((each) => each.hasAttribute('aria-current'))
  // Also the step to a place on the page comes here.
  if (line === before) return
  if (before !== undefined) close(before)
  if (line !== undefined) {
    open(line)
    lead(before && idOf(before), wanted)
  }
  tell(lines.indexOf(line))
}

function move(event) {
  const link = event.target.closest('[data-match]')
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  const { href, hash } = link
  if (!lines.some((line) => `#${line.id}` === hash)) return
  event.preventDefault()
  history.pushState(null, '', href.replace(hash, ''))
  show()
  // Only that makes it the target, and brings it into sight.
  location.replace(href)
}

if (status !== null) {
  status.addEventListener('click', move)
  window.addEventListener('popstate', show)
}
