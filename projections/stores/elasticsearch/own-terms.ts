import { createNodeMatcher } from '#src/lib/regex/linear-matcher.ts'
import { parseKnownRegex } from '#src/lib/regex/parse-regex.ts'
import { TooBroadError } from '../../index-store.ts'
import { patternTest, type PatternFilter } from '../pattern.ts'
import { visible } from '../row.ts'
import { hitsIn, objectIn, textIn } from './answer-parts.ts'
import { ask, targetKey, type Target } from './ask.ts'
import { and, ofWorkspace, type Query } from './filter.ts'
import { anyWord, widened, widerPattern } from './lucene-regex.ts'
import { tokensField } from './mapping.ts'

/** How many documents are asked for at once: as many as are likely to fit, because each round goes through all words of the indices. */
const documentsMax = 1_000
const documentsUnseen = 200
const charactersAtOnce = 16 * 1024 * 1024

function documentsAtOnce(target: Target): number {
  const mean = target.seen.meanOf(targetKey(target))
  if (mean === undefined) return documentsUnseen
  return Math.max(1, Math.min(documentsMax, Math.floor(charactersAtOnce / Math.max(mean, 1))))
}

/** The most states of the automaton of a pattern and the known words: about 1,000 words of 100 letters. */
const statesMax = 100_000
/** What the pattern may cost here, where all words of those documents are tried: some tenths of a second. */
const matcherWorkMax = 2_000_000

/** Documents with a word that matches the pattern and is not known yet. */
function documentsWithOther(field: string, wider: string, known: ReadonlySet<string>): Query {
  const others = known.size === 0 ? '' : `&~(${anyWord([...known].toSorted())})`
  const flags = 'INTERSECTION|COMPLEMENT'
  return { regexp: { [field]: { value: `${wider}${others}`, flags, max_determinized_states: statesMax } } }
}

export type OwnTermsQuery = Readonly<{
  pattern: PatternFilter
  field: string
  max: number
  /** What the documents have to meet beside. */
  within: readonly Query[]
}>

/**
 * The words that a pattern matches in the documents of one workspace, at most one more than allowed. Each round asks for documents with another word than the
 * known ones, so the number of rounds depends on the words, not on the documents.
 */
export async function ownTerms(
  target: Target,
  { pattern, field: name, max, within }: OwnTermsQuery,
): Promise<ReadonlySet<string>> {
  const field = tokensField(name)
  const prefix = visible(pattern.prefix)
  const wider = widerPattern(pattern)
  const mayBeMet = createNodeMatcher(widened(parseKnownRegex(pattern.regex)))
  const isMet = patternTest(pattern)
  const work = { left: matcherWorkMax }
  const met = new Set<string>()
  const known = new Set<string>()
  const size = documentsAtOnce(target)
  for (;;) {
    const parts = [ofWorkspace(target.workspaceId), documentsWithOther(field, wider, known)]
    const body = { size, track_total_hits: false, _source: [field], query: and([...parts, ...within]) }
    const hits = hitsIn(await ask(target, body))
    const before = known.size
    for (const word of hits.flatMap((hit) => textIn(objectIn(hit['_source'])[field]).split(' '))) {
      if (!word.startsWith(prefix) || !mayBeMet(word, work)) continue
      known.add(word)
      if (isMet.test(word, work)) met.add(word)
      if (met.size > max) return met
    }
    if ((hits.length > 0 && known.size === before) || work.left < 0) {
      throw new TooBroadError('the pattern is too complex')
    }
    // All documents with another word have come, and with them all other words.
    if (hits.length < size) return met
  }
}
