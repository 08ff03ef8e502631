import { cut } from '../format.ts'
import { html, type Html } from '../html.ts'
import { clauseOf, type Condition } from './clause.ts'
import { addressCharactersMax, type Narrow } from './narrow.ts'

export type Scalar = string | number | bigint | boolean

export const isScalar = (value: unknown): value is Scalar =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

/** Links beside the value of a field; undefined if no search would be exact. */
export type LinksOf = (name: string, value: Scalar) => Html | undefined

export const noLinks: LinksOf = () => undefined

const wordsCharactersMax = 80

type Given = Readonly<{
  narrow: Narrow
  /** The noun for what the search finds. */
  noun: 'logs' | 'spans'
  /** A condition that finds the record by this value; undefined if there is none. */
  conditionOf: (name: string, text: string) => Condition | undefined
}>

/** Links to the same search for what has this value, and for what has not. */
export function createValueLinks({ narrow, noun, conditionOf }: Given): LinksOf {
  return (name, value) => {
    // A clause is at least as long as its value, and making one of a megabyte takes a tenth of a second.
    if (typeof value === 'string' && value.length > addressCharactersMax) return undefined
    const condition = conditionOf(name, String(value))
    if (condition === undefined) return undefined
    const [only, not] = [narrow(clauseOf(condition, false)), narrow(clauseOf(condition, true))]
    if (only === undefined || not === undefined) return undefined
    const words = `${noun} with ${cut(name, wordsCharactersMax)}: ${cut(String(value), wordsCharactersMax)}`
    return html`<span
      ><a href="${only}" aria-label="only ${words}">only</a> <a href="${not}" aria-label="not ${words}">not</a></span
    >`
  }
}
