/** How many characters the documents of a place have on average: of those found there lately, rather too many than too few. */
export type SeenSizes = Readonly<{ meanOf(place: string): number | undefined; saw(place: string, mean: number): void }>

const placesMax = 10_000

/** Remembers the largest mean of each place, and forgets it slowly: a search for small ones says little about the next, for large ones. */
export function createSeenSizes(): SeenSizes {
  const means = new Map<string, number>()
  return {
    meanOf: (place) => means.get(place),
    saw(place, mean) {
      const before = means.get(place) ?? 0
      means.delete(place)
      means.set(place, Math.max(mean, before * 0.95))
      const [oldest] = means.keys()
      if (means.size > placesMax && oldest !== undefined) means.delete(oldest)
    },
  }
}
