// Shows times in the reader's own zone, or in UTC as they were sent: as was chosen last. Without it all of them are in UTC.
import { recall, remember } from './remember.js'

const local = Intl.DateTimeFormat().resolvedOptions().timeZone
const isUtc = ['UTC', 'Etc/UTC', 'GMT', 'Etc/GMT'].includes(local)
const name = 'zone'
const localName = local.replaceAll('_', ' ')
/** In the head of a column, which must not become wider than it: the choice has the whole of it. */
const place = localName.split('/').at(-1)
/** As the server writes them: a date and a time, as far as ms, and the zone where no head names it. */
const written = /(\d{4}-\d\d-\d\d) (\d\d:\d\d)(:\d\d)?(\.\d+)?(?: UTC)?/
const digits = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
}
const inLocal = new Intl.DateTimeFormat('en', {
  ...digits,
  hourCycle: 'h23',
  timeZone: local,
  timeZoneName: 'longOffset',
})

let isLocal = !isUtc && recall(name) !== 'utc'

/**
 * A time in its zone, as `from` and `to` take it again: one that is copied from a list into a form means the same there, also in the
 * hour that a change of clocks repeats. That is what its offset is for.
 */
function localOf(text, date, minute = '00:00', second = '', fraction = '') {
  const at = new Date(`${date}T${minute}${second}Z`)
  // Typed, and no time: the server says so.
  if (Number.isNaN(at.getTime())) return text
  const parts = inLocal.formatToParts(at)
  const of = (type) => parts.find((part) => part.type === type).value
  const time = `${of('hour')}:${of('minute')}${second === '' ? '' : `:${of('second')}`}${fraction}`
  const offset = of('timeZoneName').slice(3)
  return `${of('year').padStart(4, '0')}-${of('month')}-${of('day')} ${time}${offset === '' ? '+00:00' : offset}`
}

/** A text with a time as the server would write it, in the zone that is shown. */
export const inZone = (text) => (isLocal ? text.replace(written, localOf) : text)

/** Texts as they were sent. */
const sent = new WeakMap()

function show(element) {
  if (!sent.has(element)) sent.set(element, element.textContent)
  element.textContent = inZone(sent.get(element))
}

/** A round time below bars, of which a part is shown. In another zone a day does not begin where it does in UTC: so its hour too. */
function showTick(tick) {
  const [from, to] = tick.dataset.part.split(' ')
  tick.textContent = inZone(tick.dataset.at).slice(from, isLocal && to === '10' ? 16 : to)
}

/** A date, or a date and a time, without a zone, which is UTC to the server (events/point-in-time.ts); and with or without that one. */
const typed = String.raw`^\s*(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?)?`
const withoutZone = new RegExp(String.raw`${typed}\s*$`, 'i')
const ofUtc = new RegExp(String.raw`${typed}(?:Z| ?UTC)?\s*$`, 'i')

/** A time that a change of clocks repeats, by one hour or half of one, the second time that it is; any other as it is. */
function lastOf(at) {
  const same = (other) => other.getHours() === at.getHours() && other.getMinutes() === at.getMinutes()
  return [30, 60].map((minutes) => new Date(at.getTime() + minutes * 60_000)).find(same) ?? at
}

/**
 * What somebody typed in the zone that is shown, with its offset then. An hour that a change of clocks leaves out has the offset before
 * it, so that all that was before the change is before it; one that it repeats has the first as From and the second as To.
 */
function withOffset(isEnd, text, date, minute = '00:00', second = '', fraction = '') {
  const time = `${date}T${minute}${second}`
  const at = isEnd ? lastOf(new Date(time)) : new Date(time)
  const minutes = Math.round((new Date(`${time}Z`) - at) / 60_000)
  if (Number.isNaN(minutes)) return text
  const offset = new Date(Math.abs(minutes) * 60_000).toISOString().slice(11, 16)
  return `${date} ${minute}${second}${fraction}${minutes < 0 ? '-' : '+'}${offset}`
}

/** Where both ends of a range are typed. */
const fields = () => document.querySelectorAll('form.search :is([name=from], [name=to])')

/** A time of day, a day, or both: `14:30`, `14.30`, `10am`, `yesterday`, `today 9:15:30 pm`. */
const dayAndTime = /^\s*(today|yesterday)?\b\s*(?:(\d\d?)(?:[:.]([0-5]\d)(?:[:.]([0-5]\d))?)?\s*([ap]m)?)?\s*$/i

/** `half`: which one of the day, of twelve hours. Undefined where there is no such hour. */
function hourOf(digits, half) {
  const hour = Number(digits)
  if (half === undefined) return hour < 24 ? hour : undefined
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0)
}

/** What was typed so; undefined where it is something else, as a number alone is. */
function ofDay(text) {
  const [typed, named, digits, minute, second, half] = dayAndTime.exec(text) ?? []
  if (typed === undefined) return undefined
  const day = named?.toLowerCase()
  if (digits === undefined) return { day, isWhole: true, time: [0, 0, 0] }
  const hour = (minute ?? half) === undefined ? undefined : hourOf(digits, half)
  return hour === undefined ? undefined : { day, time: [hour, Number(minute ?? 0), Number(second ?? 0)] }
}

/** A time of the day that is so many days after another, in the zone that is shown. */
function onDay(date, days, time) {
  if (isLocal) return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days, ...time)
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + days, ...time))
}

/**
 * When it is; of a time alone, when it last was; or, where `after` is one of these too, when it was first after it. `isEnd`: a range ends with
 * it, so with all of a day.
 */
function timeOf({ day, isWhole, time }, after, isEnd) {
  const now = new Date()
  if (isWhole) return onDay(now, (day === 'today' ? 0 : -1) + (isEnd ? 1 : 0), time)
  const on = (date, days) => (isEnd && isLocal ? lastOf(onDay(date, days, time)) : onDay(date, days, time))
  if (day !== undefined) return on(now, day === 'today' ? 0 : -1)
  const at = on(after ?? now, 0)
  if (after === undefined) return at > now ? on(now, -1) : at
  return at > after ? at : on(after, 1)
}

const dateAlone = /^\s*(\d{4}-\d\d-\d\d)\s*$/
const withAnyZone = new RegExp(String.raw`${typed}(Z| ?UTC|[-+]\d\d:\d\d)?\s*$`, 'i')

/** A date, or a date and a time, with its zone; undefined of anything else, as of a length of time back from now. */
function pointOf(text) {
  const [, date, minute = '00:00', second = '', , zone = ''] = withAnyZone.exec(text) ?? []
  const at = new Date(`${date}T${minute}${second}${/^[-+]/.test(zone) ? zone : 'Z'}`)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** The end of a date that somebody typed in To, and not the address: to the server, and to whoever wrote that, it is the beginning. */
function endOf({ name, value, defaultValue }) {
  const [, date] = (name === 'to' && value !== defaultValue && dateAlone.exec(value)) || []
  const at = new Date(`${date}T12:00Z`)
  // No date of the calendar: the server says so.
  if (Number.isNaN(at.getTime()) || !at.toISOString().startsWith(date)) return undefined
  const end = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1]
  return isLocal ? new Date(...end) : new Date(Date.UTC(...end))
}

const textOf = (at) => inZone(`${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`)
const withZone = ({ name, value }) =>
  isLocal ? value.replace(withoutZone, (...parts) => withOffset(name === 'to', ...parts)) : value

/** What is sent of both ends of a range: times with the zone in which they were meant, also for whoever opens the address later. */
function sendTimes({ formData }) {
  let from
  for (const field of fields()) {
    const { name, value } = field
    const meant = ofDay(value)
    const at = meant === undefined ? endOf(field) : timeOf(meant, from, name === 'to')
    const typed = withZone(field)
    if (name === 'from') from = at ?? pointOf(typed)
    formData.set(name, at === undefined ? typed : textOf(at))
  }
}
document.querySelector('form.search')?.addEventListener('formdata', sendTimes)

/** All times in a part of the page. */
export function showTimes(part) {
  for (const tick of part.querySelectorAll('[data-part]')) showTick(tick)
  for (const element of part.querySelectorAll('time, svg title')) show(element)
  for (const head of part.querySelectorAll('[data-zone]')) head.textContent = isLocal ? place : 'UTC'
}

/** What was typed in the zone that was shown is in that zone, whichever is shown next. */
function nameZones() {
  for (const field of fields()) {
    const end = endOf(field)
    field.value = end === undefined ? withZone(field) : textOf(end)
  }
}

const choice = document.querySelector('[data-zone-choice]')
const select = choice?.querySelector('select')

function showChosen() {
  document.documentElement.classList.toggle('local', isLocal)
  select.value = isLocal ? 'local' : 'utc'
  showTimes(document)
  for (const field of isLocal ? fields() : []) field.value = field.value.replace(ofUtc, localOf)
}

if (select && !isUtc && document.querySelector('main :is(time, [data-zone])') !== null) {
  select.querySelector('[value=local]').textContent = localName
  choice.hidden = false
  select.addEventListener('change', () => {
    nameZones()
    isLocal = select.value === 'local'
    remember(name, select.value)
    showChosen()
  })
  showChosen()
  // What the address said, as it is shown: the same date, typed over it, is one that somebody typed.
  for (const field of fields()) field.defaultValue = field.value
}
