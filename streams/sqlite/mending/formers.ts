// A log that was made of what could be read of a damaged one says which that was, and which that one was made of, the newest first: the
// indexes of these are its own until it has some itself.

/** As many stand in a row that a later mending can find (found-meta.ts). */
const formersMax = 10

export const formatFormers = (epochs: readonly string[]): string => [...new Set(epochs)].slice(0, formersMax).join(' ')

export const parseFormers = (text: unknown): readonly string[] =>
  typeof text === 'string' ? text.split(' ').filter((epoch) => epoch !== '') : []
