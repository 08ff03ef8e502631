// A log rebuilt from a damaged one names that one's epoch and the epochs before it, newest first. Indexes built from
// them are valid for it until it has its own.

/** As many as still fit in a row that a later mending can find (found-meta.ts). */
const formersMax = 10

export const formatFormers = (epochs: readonly string[]): string => [...new Set(epochs)].slice(0, formersMax).join(' ')

export const parseFormers = (text: unknown): readonly string[] =>
  typeof text === 'string' ? text.split(' ').filter((epoch) => epoch !== '') : []
