import { isJsonObject, stringifyJson } from '#src/lib/json.ts'
import { cut, isolated, isOfLines } from '../format.ts'
import { html, type Html } from '../html.ts'
import { isScalar, noLinks, type LinksOf, type Scalar } from './value-links.ts'

type Fields = Readonly<Record<string, unknown>>
type Row = Readonly<{ name: string; value: unknown }>

/** Characters shown of one value, and of all fields of a record, so that a page of a hundred records stays usable. */
const valueCharactersMax = 2_000
/** For a value of several lines: the cause of an error is at the end of its stack trace. */
const linesCharactersMax = 20_000
const recordCharactersMax = 32_000
/** Characters for all links of a record: each link repeats the search that it extends. */
const linkCharactersMax = 32_000
/** The index takes this many values of a record; later ones cannot be searched. */
const searchableValuesMax = 4_096
/** Items of a list that are shown separately. */
const itemsMax = 20

/** Fields under the names that searches use: nested ones are dotted. Lists stay whole. */
export function dottedFields(fields: Fields, outer = ''): readonly Row[] {
  return Object.entries(fields).flatMap(([key, value]): readonly Row[] =>
    isJsonObject(value) && Object.keys(value).length > 0
      ? dottedFields(value, `${outer}${key}.`)
      : [{ name: outer + key, value }],
  )
}

/** The values of the named fields, each on one line; missing fields are left out. */
export function fieldsNamed(fields: Fields, names: readonly string[]): readonly (readonly [string, string])[] {
  if (names.length === 0) return []
  const values = new Map(dottedFields(fields).map(({ name, value }) => [name, value]))
  return names
    .filter((name) => values.has(name))
    .map((name) => {
      const value = values.get(name)
      return [name, isScalar(value) ? String(value) : stringifyJson(value)]
    })
}

/** The values that can be searched one by one; none if the value is shown as JSON. */
export function scalarsOf(value: unknown): readonly Scalar[] {
  if (isScalar(value)) return [value]
  if (!Array.isArray(value) || value.length > itemsMax) return []
  const items: readonly unknown[] = value
  return items.every(isScalar) ? items : []
}

const shownOf = (text: string): string => cut(text, isOfLines(text) ? linesCharactersMax : valueCharactersMax)

const inLines = (text: string): Html => (isOfLines(text) ? html`<pre>${isolated(text)}</pre>` : isolated(text))

/** A list of objects is shown with one item per line: browsers send stack frames like that. */
const jsonOf = (value: unknown, json: string): string =>
  Array.isArray(value) && value.length > 1 && value.every(isJsonObject) ? value.map(stringifyJson).join('\n') : json

/** Makes links until there is no more room for them. */
function bounded(linksOf: LinksOf): Readonly<{ linksOf: LinksOf; skip: (values: number) => void }> {
  let characters = linkCharactersMax
  let values = searchableValuesMax
  return {
    skip: (skipped) => void (values -= skipped),
    linksOf(name, value) {
      if (--values < 0 || characters <= 0) return undefined
      const links = linksOf(name, value)
      characters -= links?.markup.length ?? 0
      return links
    },
  }
}

type Cell = Readonly<{ content: Html; characters: number }>

function createCells(given: LinksOf, above: string | undefined): (row: Row) => Cell {
  const { linksOf, skip } = bounded(given)
  return ({ name, value }) => {
    const scalars = scalarsOf(value)
    if (value === above && isScalar(value)) {
      return { content: html`<i>the text above</i>${linksOf(name, value)}`, characters: 0 }
    }
    if (scalars.length > 0) {
      const shown = scalars.map((each) => ({ text: shownOf(String(each)), links: linksOf(name, each) }))
      const isList = Array.isArray(value)
      const content = shown.map(({ text, links }) =>
        isList ? html`<div>${inLines(text)}${links}</div>` : html`${inLines(text)}${links}`,
      )
      return { content: html`${content}`, characters: shown.reduce((sum, { text }) => sum + text.length, 0) }
    }
    const json = stringifyJson(value)
    // Each value inside JSON has a comma beside it.
    skip(json.split(',').length)
    const text = shownOf(jsonOf(value, json))
    return { content: inLines(text), characters: text.length }
  }
}

// A page of a thousand spans has ten thousand of them: a cell beside which data stand is its row's head without saying so.
// oxfmt-ignore
const rowOf = (name: string, content: Html): Html => html`<tr><th>${name}</th><td>${content}</td></tr>`

/** Fields as rows of name and value. */
function fieldRows(rows: readonly Row[], linksOf: LinksOf, above: string | undefined): readonly Html[] {
  const shown: Html[] = []
  const cellOf = createCells(linksOf, above)
  let left = recordCharactersMax
  for (const row of rows) {
    if (left <= 0) {
      const words = `${rows.length - shown.length} more fields: the search API and the export have them all.`
      shown.push(rowOf('…', html`${words}`))
      break
    }
    const { content, characters } = cellOf(row)
    left -= row.name.length + characters
    shown.push(rowOf(row.name, content))
  }
  return shown
}

/**
 * Fields as a table, nested ones with dotted names, each value with its links. `above`: a long text that is shown whole above the table, and not
 * repeated in it.
 */
export const fieldTable = (caption: string, fields: Fields, linksOf: LinksOf = noLinks, above?: string): Html =>
  Object.keys(fields).length === 0
    ? html``
    : html`<table class="fields">
        <caption>
          ${caption}
        </caption>
        <tbody>
          ${fieldRows(dottedFields(fields), linksOf, above)}
        </tbody>
      </table>`
