// Whoever comes back to a page finds open what was, and the focus on the link that was followed. Browsers keep no page of ours (it may
// show a secret): without this, a list begins anew, and the record that somebody looked into is one line of a hundred.
const openMax = 50

/** Spans and records are known by the first link of their own. Looked for among what is directly below: a subtree of spans is large. */
const keyOf = ({ children }) =>
  [...children]
    .find((child) => child.matches('p.row'))
    ?.querySelector(':scope > a')
    ?.getAttribute('href')
const keep = (what) => history.replaceState({ ...history.state, ...what }, '')

const { open = [], followed } = history.state ?? {}
for (const details of document.querySelectorAll('main details')) if (open.includes(keyOf(details))) details.open = true
if (followed !== undefined) {
  const links = [...document.querySelectorAll('main a')].filter((link) => link.getAttribute('href') === followed)
  // A point of a chart, or a figure below it, stands for a line of the list, from which the keys go on.
  const link = links.find((each) => each.closest('svg, .durations') === null) ?? links[0]
  link?.focus()
}

// Captured: it does not bubble.
document.addEventListener(
  'toggle',
  ({ target }) => {
    // A page says this of each fold that it comes with, of which a trace has hundreds.
    if (keyOf(target) === undefined) return
    const keys = [...document.querySelectorAll('main details[open]')].map(keyOf).filter((key) => key !== undefined)
    keep({ open: keys.slice(0, openMax) })
  },
  true,
)
document.addEventListener('click', ({ target }) => {
  const link = target.closest('main a')
  if (link !== null) keep({ followed: link.getAttribute('href') })
})
