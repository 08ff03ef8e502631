import { crc32 } from 'node:zlib'

/** Colours for the bars of services. Each has a contrast of at least 3.5 to the page, light or dark, and none is the red of errors. */
export const colours = [
  '#3b82f6',
  '#a16207',
  '#0d9488',
  '#c026d3',
  '#4d7c0f',
  '#8b5cf6',
  '#64748b',
  '#15803d',
  '#0891b2',
  '#8a6d5a',
] as const

/** Returns the style sheet's class for a service's colour. */
export type ColourOf = (service: string) => string

/** The colour that a service would have by its name alone. */
const preferredOf = (name: string): number => crc32(name) % colours.length

/**
 * Gives each service the colour of its name, so that it is the same everywhere. If two of these services would share one, the later by name takes a
 * free colour, as long as there is one.
 */
export function serviceColours(services: Iterable<string>): ColourOf {
  const names = [...new Set(services)].sort((a, b) => (a < b ? -1 : 1))
  const taken = new Set<number>()
  const given = new Map<string, number>()
  const take = (name: string, place: number): void => {
    taken.add(place)
    given.set(name, place)
  }
  for (const name of names) if (!taken.has(preferredOf(name))) take(name, preferredOf(name))
  for (const name of names.filter((each) => !given.has(each))) {
    const places = colours.map((_, step) => (preferredOf(name) + step) % colours.length)
    take(name, places.find((place) => !taken.has(place)) ?? preferredOf(name))
  }
  return (service) => `s${given.get(service) ?? preferredOf(service)}`
}
