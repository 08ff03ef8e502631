// Dragging over the bars of a search leads to the same search of the time under them. Each bar is a link without it.
import { inZone } from './times.js'

const chart = document.querySelector('svg.histogram')
const words = document.querySelector('[data-chosen]')
/** Less is a click with an unsteady hand. */
const dragPxMin = 5

/** Where the pointer went down; undefined when it is up, or what it did is given up. */
let downX
/** The time that is chosen, in whole bars; undefined while nothing is. */
let chosen
/** What follows the end of a drag, and no bar is to be opened for. */
let isNoClick = false
let said = ''
const shade = document.createElementNS('http://www.w3.org/2000/svg', 'rect')

/** Of the bars and of their search: ms, and the ends of its range as they were given. */
const number = (name) => Number(chart.dataset[name])
const utc = (ms) => new Date(ms).toISOString().replace(/\.000Z$/, 'Z')

/** The bar at a place on the page: its number, counted from the first that has something. */
function barAt(x) {
  const { left, width } = chart.getBoundingClientRect()
  const share = Math.max(0, (x - left) / width)
  const atMs = number('start') + share * (number('end') - number('start'))
  // The very end belongs to the last bar.
  return Math.floor((Math.min(atMs, number('end') - 1) - number('first')) / number('step'))
}

/** As a bar's own link has it: no further than the range of the search, whose ends are finer than ms. */
function rangeOf({ fromMs, toMs }) {
  const { from, to } = chart.dataset
  return {
    from: from !== '' && Date.parse(from) >= fromMs ? from : utc(fromMs),
    to: to !== '' && Date.parse(to) < toMs ? to : utc(toMs),
  }
}

function addressOf(time) {
  const address = new URL(location.href)
  const { from, to } = rangeOf(time)
  address.searchParams.set('from', from)
  address.searchParams.set('to', to)
  address.hash = ''
  // As all links of the page, where its own address does not say it.
  const { workspace } = document.body.dataset
  if (workspace !== undefined) address.searchParams.set('shown_in', workspace)
  return address.href
}

/** `2026-11-21T12:00:00Z` to the second, in the zone that all times of the page are in. */
const timeOf = (time) => inZone(`${time.slice(0, 10)} ${time.slice(11, 19)} UTC`)

function draw() {
  const scale = 1_000 / (number('end') - number('start'))
  shade.setAttribute('x', (chosen.fromMs - number('start')) * scale)
  shade.setAttribute('width', (chosen.toMs - chosen.fromMs) * scale)
  chart.append(shade)
  const { from, to } = rangeOf(chosen)
  words.textContent = `${timeOf(from)} – ${timeOf(to)}`
}

function end() {
  if (chosen !== undefined) words.textContent = said
  shade.remove()
  downX = undefined
  chosen = undefined
}

function drag(event) {
  // Let go beside the bars, which then hear nothing of it.
  if (event.buttons === 0) end()
  if (downX === undefined || (chosen === undefined && Math.abs(event.clientX - downX) < dragPxMin)) return
  if (chosen === undefined) {
    // Only now: a click would no longer be one on a bar.
    chart.setPointerCapture(event.pointerId)
    isNoClick = true
    said = words.textContent
  }
  const bars = [barAt(downX), barAt(event.clientX)]
  const timeOfBar = (bar) => number('first') + bar * number('step')
  chosen = { fromMs: timeOfBar(Math.min(...bars)), toMs: timeOfBar(Math.max(...bars) + 1) }
  draw()
}

function drop() {
  const address = chosen === undefined ? undefined : addressOf(chosen)
  end()
  if (address !== undefined) location.assign(address)
}

if (chart !== null) {
  chart.classList.add('drag')
  for (const [name, value] of Object.entries({ class: 'chosen', y: 0, height: 100 })) shade.setAttribute(name, value)
  chart.addEventListener('pointerdown', (event) => {
    isNoClick = false
    if (event.isPrimary && event.button === 0) downX = event.clientX
  })
  chart.addEventListener('pointermove', drag)
  chart.addEventListener('pointerup', drop)
  chart.addEventListener('pointercancel', end)
  document.addEventListener('keydown', ({ key }) => void (key === 'Escape' && end()))
  // A key clicks too, with no button that could have been pressed: `detail` counts the presses.
  chart.addEventListener('click', (event) => void (isNoClick && event.detail > 0 && event.preventDefault()), true)
  // A link would be dragged itself.
  chart.addEventListener('dragstart', (event) => event.preventDefault())
}
