type Sized = Readonly<{ endsForSize?: true }>

/** Takes hits up to `charactersMax` characters of JSON, but at least one. `take` returns false when it is full; the last hit then says so. */
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
