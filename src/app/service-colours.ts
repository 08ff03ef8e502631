import { crc32 } from 'node:zlib'

/**
 * Fills for the bars of services. Each has a contrast of 3.5 or more with the page, light or dark, and none is the red of errors.
 */
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

/** Class of the style sheet that has the colour of a service. */
export type ColourOf = (service: string) => string

/** The colour that a service has by its name alone. */
const preferredOf = (name: string): number => crc32(name) % colours.length

/**
 * Colours by name, so that a service has the same one everywhere; where two of these services would share one, the later by name
 * takes one that is free, as long as there are any.
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
