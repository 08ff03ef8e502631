import type { Position } from '#src/events/envelope.ts'
import type { Database } from '../database.ts'
import { positionOf } from '../stored-rows.ts'

/** Patterns of one open file: a search has few, and asks with them again for each of its pages. */
const patternsMax = 8

/** What a pattern met when the file had followed its log up to a position. */
type Known = Readonly<{ position: Position; met: unknown }>

const files = new WeakMap<Database, Map<string, Known>>()

type Asked = Readonly<{ pattern: string; upTo: Position | undefined }>

/**
 * What a pattern has met in an open file. It is kept, because an export asks again with each of its batches, and to look may take seconds. Each
 * write moves the file's position on. Then it is looked for anew (`isNew`), unless the question is only of what was there before (`upTo`).
 */
export function metTerms<Met>(database: Database, { pattern, upTo = Infinity }: Asked, look: () => Met) {
  const known = files.get(database) ?? new Map<string, Known>()
  files.set(database, known)
  const position = positionOf(database)
  const last = known.get(pattern)
  if (last !== undefined && last.position >= Math.min(position, upTo)) return { met: last.met as Met, isNew: false }
  const met = look()
  known.delete(pattern)
  known.set(pattern, { position, met })
  const [oldest] = known.keys()
  if (known.size > patternsMax && oldest !== undefined) known.delete(oldest)
  return { met, isNew: true }
}
