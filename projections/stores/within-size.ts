type Sized = Readonly<{ endsForSize?: true }>

/**
 * Takes hits as long as their documents come to no more than `charactersMax` characters of JSON, one at least. `take` is false when
 * that was all: the last hit says so.
 */
export function createSizedHits<H extends Sized>(charactersMax = Infinity) {
  const hits: H[] = []
  let characters = 0
  return {
    hits,
    take(this: void, hit: H, length: number): boolean {
      characters += length
      const last = hits.at(-1)
      if (characters <= charactersMax || last === undefined) return hits.push(hit) > 0
      hits[hits.length - 1] = { ...last, endsForSize: true }
      return false
    },
  }
}
