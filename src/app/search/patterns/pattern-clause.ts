import type { QueryTree } from '#src/events/query-tree.ts'
import { runCharacter, wholeText, words } from '#src/events/tokens.ts'
import { printQuery } from '#src/query/searches.ts'
import { clauseOf, oneLine } from '../clause.ts'
import { cutAtWord, isOneLine, lastWord, placeholder } from './message-shape.ts'

// Translates a pattern into the search language: its phrases between placeholders, in any order. That finds all records of the pattern, and maybe
// others. A pattern without placeholders becomes the message itself.

/** The most phrases of a clause, of which the longest are taken, and characters of each: they must fit into an address. */
const [phrasesMax, phraseCharactersMax] = [6, 120]
/** The longest message that is searched for as a whole. */
const messageCharactersMax = 300

const firstWord = new RegExp(`^${runCharacter}+`, 'v')

/** The phrases between placeholders, in whole words: a placeholder may stand for a part of a word only. */
export function phrasesOf(pattern: string): readonly string[] {
  const parts = pattern.split(placeholder).filter((_, at) => at % 2 === 0)
  const whole = parts.map((part, at) => {
    const begun = at === 0 ? part : part.replace(firstWord, '')
    const ended = at === parts.length - 1 ? begun : begun.replace(lastWord, '')
    // Invisible characters do not go into a search. The index treats them as blanks.
    return cutAtWord(ended.replace(/[\s\p{C}]+/gu, ' ').trim(), phraseCharactersMax).trim()
  })
  const telling = [...new Set(whole)].filter((phrase) => words(phrase).length > 0)
  const longest = new Set(telling.toSorted((a, b) => b.length - a.length).slice(0, phrasesMax))
  return telling.filter((phrase) => longest.has(phrase))
}

/**
 * What a pattern needs to know of a record. `same`: equal for messages that one `message=` finds; undefined if only a part of the message is in the
 * pattern.
 */
export type Sayable = Readonly<{ message: string | undefined; same: string | undefined; indexed: string | undefined }>

export function sayableOf(message: string): Sayable {
  if (!isOneLine(message)) return { message: undefined, same: undefined, indexed: undefined }
  return { message, same: wholeText(message), indexed: ` ${words(message).join(' ')} ` }
}

const treeOf = (phrases: readonly string[]): QueryTree => {
  const of = phrases.map((text) => ({ kind: 'match', field: 'message', text }) as const)
  return of.length === 1 && of[0] !== undefined ? of[0] : { kind: 'and', of }
}

type Said = Readonly<{ text: string; said: readonly Sayable[] }>

/** The one message of all records of the pattern; undefined if it has placeholders, differs, or is too long. */
function messageOf({ text, said }: Said): string | undefined {
  const [first] = said
  const isOne = first?.message !== undefined && said.every(({ same }) => same === first.same)
  if (!isOne || placeholder.test(text)) return undefined
  return first.message.length <= messageCharactersMax ? oneLine(first.message) : undefined
}

/** A clause that finds all records of a pattern; undefined if nothing in it can be searched. */
export function clauseOfPattern(pattern: Said): string | undefined {
  const message = messageOf(pattern)
  if (message !== undefined) return clauseOf({ field: 'message', operator: '=', text: message }, false)
  const phrases = phrasesOf(pattern.text)
  return phrases.length === 0 ? undefined : printQuery(treeOf(phrases))
}

/**
 * A clause that excludes the records of a pattern and no others; undefined if that is not certain. `others`: all other records that the search found;
 * undefined if not all were read.
 */
export function clauseWithout(pattern: Said, others: readonly Sayable[] | undefined): string | undefined {
  const message = messageOf(pattern)
  // A record may have an empty field `message`, and its message in another field.
  if (message !== undefined && message.trim() !== '')
    return clauseOf({ field: 'message', operator: '=', text: message }, true)
  const phrases = phrasesOf(pattern.text)
  if (others === undefined || phrases.length === 0) return undefined
  const found = phrases.map((phrase) => ` ${words(phrase).join(' ')} `)
  const isOfOther = others.some(({ indexed }) => indexed === undefined || found.every((each) => indexed.includes(each)))
  return isOfOther ? undefined : printQuery({ kind: 'not', of: treeOf(phrases) })
}
