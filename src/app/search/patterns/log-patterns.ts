import { foldCase } from '#src/events/tokens.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { anything, placeholder } from './message-shape.ts'

// Groups messages into patterns: messages of the same shape, and shapes with the same number of words that differ in few of them.

/** Two shapes make one pattern if they share at least this many words that are not placeholders, at the same places, and this share of all words. */
const sameWordsMin = 3
const sameShareMin = 0.6
/** Short messages have few words: they make one pattern if at least `variantsMin` differ in one word only. */
const [shortWordsMax, variantsMin] = [5, 8]
/** The most patterns, with the same number of words and the same first word, that a shape is compared with. */
const comparedMax = 30

type Shaped = Readonly<{ shape: string }>
/** `text`: with `<*>` where the messages differ. */
export type Pattern<Said extends Shaped> = Readonly<{ text: string; said: readonly Said[] }>

type Group<Said> = { words: readonly string[]; said: Said[] }

/** `user=` of `user=alice`, and of `user=<id>`. */
const nameAhead = /^[^\s=:]{1,64}[=:](?=.)/u

/** The text as searches compare it: they ignore case. Placeholders get upper case, which no folded message has. */
const folded = (text: string): string =>
  text
    .split(placeholder)
    .map((part, at) => (at % 2 === 1 ? part.toUpperCase() : foldCase(part)))
    .join('')

/** Whether a word is only a placeholder, perhaps with a name before it. */
const isPlaceholder = (word: string): boolean =>
  word
    .replace(nameAhead, '')
    .split(placeholder)
    .every((part, at) => at % 2 === 1 || !/[\p{L}\p{N}-]/u.test(part))

/** A word that stands for both. */
function either(one: string, other: string): string {
  if (one === other) return one
  if (one.charAt(0) !== other.charAt(0)) return anything
  const [name] = nameAhead.exec(one) ?? []
  return name !== undefined && other.startsWith(name) ? name + anything : anything
}

/** The share of words that two shapes with the same number of words have in common, 0 to 1; 0 if that is too little for one pattern. */
function likeness(one: readonly string[], other: readonly string[]): number {
  let [same, words] = [0, 0]
  for (const [at, word] of one.entries()) {
    const both = either(word, other[at] ?? '')
    if (both === anything) continue
    same++
    if (words < sameWordsMin && !isPlaceholder(both)) words++
  }
  const share = same / one.length
  return words >= sameWordsMin && share >= sameShareMin ? share : 0
}

function join<Said>(into: Group<Said>, { words, said }: Group<Said>): void {
  into.words = into.words.map((word, at) => either(word, words[at] ?? ''))
  into.said.push(...said)
}

/** Adds a group to the one that is most like it, or keeps it as a new one. */
function place<Said>(groups: Group<Said>[], group: Group<Said>): void {
  let [best, most] = [undefined as Group<Said> | undefined, 0]
  for (const other of groups.slice(0, comparedMax)) {
    const share = likeness(other.words, group.words)
    if (share > most) [best, most] = [other, share]
  }
  if (best === undefined) groups.push(group)
  else join(best, group)
}

/** Joins short messages that differ at one place only, in many words. */
function joinVariants<Said>(groups: readonly Group<Said>[], at: number): readonly Group<Said>[] {
  const byRest = Map.groupBy(groups, ({ words }) => words.with(at, anything).join(' '))
  return [...byRest].flatMap(([rest, alike]) => {
    const [first] = alike
    if (first === undefined || alike.length < variantsMin || rest.split(' ').every(isPlaceholder)) return alike
    return [{ words: rest.split(' '), said: alike.flatMap(({ said }) => said) }]
  })
}

function joinShort<Said>(groups: readonly Group<Said>[]): readonly Group<Said>[] {
  const length = groups[0]?.words.length ?? 0
  if (length > shortWordsMax) return groups
  let joined = groups
  for (let at = 1; at < length; at++) joined = joinVariants(joined, at)
  return joined
}

type Sized = Readonly<{ said: readonly unknown[] }>
const byCount = (a: Sized, b: Sized): number => b.said.length - a.said.length

/**
 * The patterns of messages, the most frequent first. The order of the messages does not change the patterns. Each message is in one pattern, in the
 * given order.
 */
export async function patternsOf<Said extends Shaped>(all: readonly Said[]): Promise<readonly Pattern<Said>[]> {
  const shapes = [...Map.groupBy(all, ({ shape }) => shape)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([shape, said]): Group<Said> => ({ words: shape.split(' '), said: [...said] }))
    .toSorted(byCount)
  const buckets = new Map<string, Group<Said>[]>()
  await mapInTurns(shapes, (group) => {
    const key = `${group.words.length} ${group.words[0]}`
    const groups = buckets.get(key)
    if (groups === undefined) buckets.set(key, [group])
    else place(groups, group)
  })
  const places = new Map(all.map((said, at) => [said, at]))
  const found = [...buckets.values()].flatMap(joinShort).map(({ words, said }) => ({ text: words.join(' '), said }))
  return [...Map.groupBy(found.toSorted(byCount), ({ text }) => folded(text)).values()]
    .map((alike) => {
      const said = alike.flatMap((group) => group.said)
      return {
        text: alike[0]?.text ?? '',
        said: said.toSorted((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)),
      }
    })
    .toSorted((a, b) => byCount(a, b) || (a.text < b.text ? -1 : 1))
}
