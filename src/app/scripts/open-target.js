// Opens the span or the record that a link within the page leads to, as the server opens the span that an address names.
function open() {
  const found = document.querySelector('details.line:target, tr:target details')
  if (found !== null) found.open = true
}

window.addEventListener('hashchange', open)
open()
