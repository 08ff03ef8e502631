// Opens the span that a link within the page leads to, as the server opens the one that an address names.
function open() {
  const line = document.querySelector('details.line:target')
  if (line !== null) line.open = true
}

window.addEventListener('hashchange', open)
open()
