// What somebody has unfolded once stays so on every page that has it.
import { recall, remember } from './remember.js'

for (const details of document.querySelectorAll('details[data-remember]')) {
  const name = `open.${details.dataset.remember}`
  details.open = recall(name) === 'yes'
  details.addEventListener('toggle', () => remember(name, details.open ? 'yes' : 'no'))
}
