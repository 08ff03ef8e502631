import type { Position } from '#src/events/envelope.ts'
import type { Database } from '../database.ts'
import { positionOf } from '../stored-rows.ts'

/** What is kept for one open file: eight lists of a thousand words, or a hundred patterns that meet few. */
const charactersMax = 192 * 1024
/** What a word takes beside its characters. */
const wordCharacters = 16

type Terms = Readonly<{ terms: readonly Readonly<{ text: string }>[] }>

/** What a pattern met when the file had followed its log up to a position. */
type Known = Readonly<{ position: Position; met: Terms; characters: number }>

const files = new WeakMap<Database, Map<string, Known>>()

const charactersOf = (pattern: string, { terms }: Terms): number =>
  terms.reduce((sum, { text }) => sum + text.length + wordCharacters, pattern.length)

/** Lets go of those that were looked for first, until the others are no more than may be kept; the last stays in any case. */
function letGo(known: Map<string, Known>): void {
  let characters = 0
  for (const each of known.values()) characters += each.characters
  for (const [pattern, each] of known) {
    if (characters <= charactersMax || known.size === 1) return
    known.delete(pattern)
    characters -= each.characters
  }
}

type Asked = Readonly<{ pattern: string; upTo: Position | undefined }>

/**
 * What a pattern has met in an open file. It is kept, because an export asks again with each of its batches, and to look may take seconds. Each
 * write moves the file's position on. Then it is looked for anew (`isNew`), unless the question is only of what was there before (`upTo`).
 */
export function metTerms<Met extends Terms>(database: Database, { pattern, upTo = Infinity }: Asked, look: () => Met) {
  const known = files.get(database) ?? new Map<string, Known>()
  files.set(database, known)
  const position = positionOf(database)
  const last = known.get(pattern)
  if (last !== undefined && last.position >= Math.min(position, upTo)) return { met: last.met as Met, isNew: false }
  const met = look()
  known.delete(pattern)
  known.set(pattern, { position, met, characters: charactersOf(pattern, met) })
  letGo(known)
  return { met, isNew: true }
}
