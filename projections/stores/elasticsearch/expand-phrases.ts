import { TooBroadError, type Filter, type Selection } from '../../index-store.ts'
import { leavesOf, type PatternFilter } from '../pattern.ts'
import { visible } from '../row.ts'
import { visibleDays, type Target } from './ask.ts'
import type { ExpansionLimits } from './expand.ts'
import { inRange, type Expansions } from './filter.ts'
import { tokensField } from './mapping.ts'
import { ownTerms } from './own-terms.ts'

type PhraseFilter = Filter & Readonly<{ kind: 'phrase' }>

const endsInPrefix = (leaf: Filter): leaf is PhraseFilter =>
  leaf.kind === 'phrase' && leaf.prefix === true && leaf.tokens.length > 1

/** The words that may end a phrase in a field: those of documents that hold its other words, within the range of time. */
async function lastWords(
  target: Target,
  { phrase, field, range }: Readonly<{ phrase: PhraseFilter; field: string; range: Selection }>,
  max: number,
): Promise<readonly string[]> {
  const others = phrase.tokens.slice(0, -1).map((token) => ({ term: { [tokensField(field)]: visible(token) } }))
  const pattern: PatternFilter = {
    kind: 'pattern',
    fields: [field],
    prefix: phrase.tokens.at(-1) ?? '',
    regex: '.*',
  }
  const within = [...visibleDays(target), ...inRange(range), ...others]
  const words = await ownTerms(target, { pattern, field, max, within })
  if (words.size > max) throw new TooBroadError(`the beginning of a phrase meets more than ${max} words`)
  return [...words]
}

/**
 * The last words of a selection's phrases that end in a prefix, of this workspace's documents: for phrases that cannot be asked for by the prefix, which
 * meets the words of all workspaces. Phrases that have too many are left as they are.
 */
export async function expandPhrases(
  target: Target,
  selection: Selection,
  { patternExpansionsMax: max }: ExpansionLimits,
): Promise<Expansions> {
  const found = new Map<Filter, ReadonlyMap<string, readonly string[]>>()
  for (const phrase of leavesOf(selection.filter).filter(endsInPrefix)) {
    const words = new Map<string, readonly string[]>()
    try {
      for (const field of phrase.fields)
        words.set(field, await lastWords(target, { phrase, field, range: selection }, max))
      found.set(phrase, words)
    } catch (error) {
      if (!(error instanceof TooBroadError)) throw error
    }
  }
  return found
}
