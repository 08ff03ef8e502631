import { cut } from '../format.ts'
import { html, type Html } from '../html.ts'
import { clauseOf, type Condition } from './clause.ts'
import { addressCharactersMax, type Narrow } from './narrow.ts'

export type Scalar = string | number | bigint | boolean

export const isScalar = (value: unknown): value is Scalar =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

/** The links that stand beside a value of a field; nothing where no search would be exact. */
export type LinksOf = (name: string, value: Scalar) => Html | undefined

export const noLinks: LinksOf = () => undefined

const wordsCharactersMax = 80

type Given = Readonly<{
  narrow: Narrow
  /** What the search finds. */
  noun: 'logs' | 'spans'
  /** What finds the record by this value; undefined: nothing does. */
  conditionOf: (name: string, text: string) => Condition | undefined
}>

/** Links to the same search of what has this value, and of what has it not. */
export function createValueLinks({ narrow, noun, conditionOf }: Given): LinksOf {
  return (name, value) => {
    // A clause is no shorter than its value; of a megabyte it takes a tenth of a second to make one.
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
