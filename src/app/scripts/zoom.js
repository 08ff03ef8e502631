// Dragging over the bars of a trace in miniature, or over the axis of its waterfall, shows the time under them. Without it, links do.
/** Less is a click with an unsteady hand. */
const dragPxMin = 5
const shade = document.createElement('div')
shade.className = 'chosen'

/** The time line that is dragged over, and where on the page the pointer went down; undefined when it is up, or what it did is given up. */
let line
let downX

/** A place on the page as a share of the time line. */
function shareAt(x) {
  const { left, width } = line.getBoundingClientRect()
  return Math.min(1, Math.max(0, (x - left) / width))
}

/** Both ends of what is chosen, as shares. */
const sharesTo = (x) => [shareAt(downX), shareAt(x)].sort((a, b) => a - b)

function addressOf([from, to]) {
  const [start, end] = [BigInt(line.dataset.start), BigInt(line.dataset.end)]
  const timeAt = (share) => start + BigInt(Math.round(share * Number(end - start)))
  const address = new URL(location.href)
  address.searchParams.set('zoom', `${timeAt(from)}-${timeAt(to)}`)
  address.hash = 'shown'
  // As all links of the page, where its own address does not say it.
  const { workspace } = document.body.dataset
  if (workspace !== undefined) address.searchParams.set('shown_in', workspace)
  return address.href
}

function end() {
  shade.remove()
  line = undefined
}

const isFar = (x) => Math.abs(x - downX) >= dragPxMin

function drag({ clientX, pointerId, buttons }) {
  // Let go beside the line, which then hears nothing of it.
  if (buttons === 0) end()
  if (line === undefined || (!shade.isConnected && !isFar(clientX))) return
  const [from, to] = sharesTo(clientX)
  shade.style.left = `${from * 100}%`
  shade.style.width = `${(to - from) * 100}%`
  if (shade.isConnected) return
  line.setPointerCapture(pointerId)
  line.append(shade)
}

function drop({ clientX }) {
  // Whoever has gone back to where it began has thought better of it.
  const address = line !== undefined && shade.isConnected && isFar(clientX) ? addressOf(sharesTo(clientX)) : undefined
  end()
  if (address !== undefined) location.assign(address)
}

for (const each of document.querySelectorAll('[data-zoom]')) {
  each.classList.add('drag')
  each.addEventListener('pointerdown', ({ isPrimary, button, clientX }) => {
    if (isPrimary && button === 0) [line, downX] = [each, clientX]
  })
  each.addEventListener('pointermove', drag)
  each.addEventListener('pointerup', drop)
  each.addEventListener('pointercancel', end)
}
document.addEventListener('keydown', ({ key }) => void (key === 'Escape' && end()))
for (const hint of document.querySelectorAll('[data-zoom-hint]')) hint.hidden = false
