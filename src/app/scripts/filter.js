// Above a long table a field that leaves those of its rows in sight that have what is typed. Without it, a browser's own search finds them.
const rowsMin = 10

const plain = (text) => text.replaceAll(/\s+/g, ' ').trim().toLowerCase()

/** What a row says, without the forms that it folds. */
function textOf(row) {
  const shown = row.cloneNode(true)
  for (const form of shown.querySelectorAll('td:last-child details, form')) form.remove()
  return plain(shown.textContent)
}

function fieldFor(table) {
  const rows = [...table.tBodies[0].rows].map((row) => [row, textOf(row)])
  if (rows.length < rowsMin) return
  const [form, label, field, said] = ['form', 'label', 'input', 'output'].map((name) => document.createElement(name))
  form.className = 'row'
  form.setAttribute('role', 'search')
  form.setAttribute('aria-label', table.dataset.filter)
  form.addEventListener('submit', (event) => event.preventDefault())
  field.type = 'search'
  field.size = 30
  field.autocomplete = 'off'
  label.append(table.dataset.filter, field)
  form.append(label, said)
  field.addEventListener('input', () => {
    const typed = plain(field.value)
    let left = 0
    for (const [row, text] of rows) {
      row.hidden = !text.includes(typed)
      if (!row.hidden) left += 1
    }
    said.textContent = typed === '' ? '' : `${left.toLocaleString('en')} of ${rows.length.toLocaleString('en')}`
  })
  table.before(form)
}

for (const table of document.querySelectorAll('table[data-filter]')) fieldFor(table)
