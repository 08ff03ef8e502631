import { html, type Html } from './html.ts'

/** What may be typed, and what it finds. */
type Form = Readonly<{ typed: readonly string[]; finds: string }>

/** The language in a few lines (CONTRACT §9), by the habits of those who search. */
const formsOf = (field: string, noun: string): readonly Form[] => [
  { typed: ['connection refused', '"connection refused"'], finds: 'both words; these words side by side' },
  { typed: ['timeout OR reset', '-debug', 'NOT (debug OR trace)'], finds: 'either; not' },
  { typed: [`${field}:api`, `${field}:(api OR web)`], finds: `words in a field` },
  { typed: [`${field}=api`, `${field}!=api`], finds: 'the whole value of a field' },
  { typed: ['user.id:*', '-user.id:*'], finds: `${noun} with the field; without it` },
  { typed: ['null*', 'path:/api/*/orders', '/time-?out/'], finds: 'patterns' },
]

export const logForms: readonly Form[] = [
  ...formsOf('service', 'records'),
  { typed: ['level>=warn', 'status>=500', 'status:[400 TO 499]', 'took<1.5s'], finds: 'levels and numbers' },
  { typed: ['order.customer.id=7'], finds: 'a nested field, by its dotted name' },
]

export const traceForms: readonly Form[] = [
  ...formsOf('peer.service', 'spans'),
  { typed: ['http.response.status_code>=500', 'db.rows:[100 TO *]'], finds: 'numbers' },
  {
    typed: ['span.http.route=/orders', 'resource.host.name:web*', 'event.exception.type:*'],
    finds: 'attributes of the span, of its resource, of its events; without a prefix, of any of them',
  },
]

const times: Form = {
  typed: ['-15m', '-7d', 'now-2d', '2026-11-21T08:00', '2026-11-21T08:00+01:00', '1795557482'],
  finds: 'From and To: relative, in UTC unless a zone is named, or as Unix time',
}

const rowOf = ({ typed, finds }: Form): Html =>
  html`<tr>
    <td>${typed.map((each) => html`<code>${each}</code> `)}</td>
    <td>${finds}</td>
  </tr>`

/** How to search, folded away. */
export const searchHelp = (forms: readonly Form[]): Html =>
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
        ${[...forms, times].map(rowOf)}
      </tbody>
    </table>
  </details>`
