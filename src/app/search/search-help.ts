import { html, type Html } from '../html.ts'

/** Examples of what may be typed, and what they find. */
export type HelpForm = Readonly<{ typed: readonly string[]; finds: string }>

/** The language in a few lines, by common habits. */
const formsOf = (field: string, noun: string): readonly HelpForm[] => [
  { typed: ['connection refused', '"connection refused"'], finds: 'both words; these words side by side' },
  { typed: ['timeout OR reset', '-debug', 'NOT (debug OR trace)'], finds: 'either; not' },
  { typed: [`${field}:api`, `${field}:(api OR web)`], finds: `words in a field` },
  { typed: [`${field}=api`, `${field}!=api`], finds: 'the whole value of a field' },
  { typed: ['user.id:*', '-user.id:*'], finds: `${noun} with the field; without it` },
  { typed: ['null*', 'path:/api/*/orders', '/time-?out/'], finds: 'patterns' },
]

const byId = (noun: string): HelpForm => ({
  typed: ['5b8efff798038103d269b633813fc60c', '"5b8efff798038103d269b633813fc60c"'],
  finds: `what has the id of a trace, span, session or log record; ${noun} that say it`,
})

export const logForms: readonly HelpForm[] = [
  ...formsOf('service', 'records'),
  byId('records'),
  { typed: ['level>=warn', 'status>=500', 'status:[400 TO 499]', 'took<1.5s'], finds: 'levels and numbers' },
  { typed: ['order.customer.id=7'], finds: 'a nested field, by its dotted name' },
]

/** For spans within one trace. */
export const spanForms: readonly HelpForm[] = [
  ...formsOf('peer.service', 'spans'),
  { typed: ['http.response.status_code>=500', 'db.rows:[100 TO *]'], finds: 'numbers' },
  {
    typed: ['span.http.route=/orders', 'resource.host.name:web*', 'event.exception.type:*'],
    finds: 'attributes of the span, of its resource, of its events; without a prefix, of any of them',
  },
]

export const traceForms: readonly HelpForm[] = [...spanForms, byId('spans')]

export const sessionForms: readonly HelpForm[] = [
  ...formsOf('app.name', 'events'),
  byId('events'),
  { typed: ['value>2500', 'status:[400 TO 499]', 'level>=error'], finds: 'numbers, and levels of what was logged' },
  {
    typed: ['page.url:checkout', 'user.email=ann@shop.example', 'browser.name:Firefox'],
    finds: 'a nested field, by its dotted name',
  },
]

/** For a search with a range. */
export const times: HelpForm = {
  typed: ['-15m', '-7d', 'now-2d', '2026-11-21T08:00', '2026-11-21T08:00+01:00', '1795557482'],
  finds: 'From and To: relative, in the zone that times are shown in unless one is named, or as Unix time',
}

const rowOf = ({ typed, finds }: HelpForm): Html =>
  html`<tr>
    <td>${typed.map((each) => html`<code>${each}</code> `)}</td>
    <td>${finds}</td>
  </tr>`

/** Shortcuts of scripts/shortcuts.js, which reveals this part, and of scripts/histogram.js and zoom.js. */
const shortcuts = html`<div data-shortcuts hidden>
  <p>
    <label class="check"><input type="checkbox" /> Keyboard shortcuts</label>
  </p>
  <p>
    <kbd>/</kbd> goes to the search field, <kbd>?</kbd> to this help, <kbd>j</kbd> to the next result or span and
    <kbd>k</kbd> to the one before, <kbd>f</kbd> follows logs and stops following. In a trace <kbd>n</kbd> goes to the
    next match and <kbd>p</kbd> to the one before. A drag over the bars of a search, or over those of a trace in
    miniature, chooses their time; <kbd>Escape</kbd> gives it up. A time of day alone, such as 14:30, is the last one in
    From, and in To the first one after it. A day, such as yesterday, is its beginning in From, and its end in To.
  </p>
</div>`

/** Help about searching, folded. */
export const searchHelp = (forms: readonly HelpForm[]): Html =>
  html`<details class="help">
    <summary>How to search</summary>
    <table>
      <thead>
        <tr>
          <th scope="col">Type</th>
          <th scope="col">To find</th>
        </tr>
      </thead>
      <tbody>
        ${forms.map(rowOf)}
      </tbody>
    </table>
    ${shortcuts}
  </details>`
