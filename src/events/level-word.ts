import { levels, type Level } from './telemetry.ts'

const synonyms: ReadonlyMap<string, Level> = new Map([
  ...levels.map((level): [string, Level] => [level, level]),
  ['verbose', 'trace'],
  ['dbg', 'debug'],
  ['information', 'info'],
  ['informational', 'info'],
  ['notice', 'info'],
  ['warning', 'warn'],
  ['err', 'error'],
  ['severe', 'error'],
  ['critical', 'fatal'],
  ['crit', 'fatal'],
  ['alert', 'fatal'],
  ['emerg', 'fatal'],
  ['emergency', 'fatal'],
  ['panic', 'fatal'],
])

/** The level that a word means in a search, ignoring case; undefined for other words. */
export const levelOfWord = (word: string): Level | undefined => synonyms.get(word.trim().toLowerCase())
