import { readFileSync } from 'node:fs'
import { PermanentError } from '#src/lib/failure.ts'
import { memoryBytes } from './memory.ts'

/** How many files this process may open, on Linux; undefined if unknown or unlimited. */
export function openFilesMax(
  limits: () => string = () => readFileSync('/proc/self/limits', 'utf8'),
): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(limits()) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** With too few, a server starts but then can neither accept connections nor open its indexes. */
export function checkOpenFiles(openFilesMin: number, max: number | undefined = openFilesMax()): void {
  if (max === undefined || max >= openFilesMin) return
  throw new PermanentError({
    operation: 'start',
    subject: `with at most ${max} open files`,
    hint: `it needs ${openFilesMin} or more, and one for each connection: raise the limit (ulimit -n)`,
  })
}

/** What an index file that is open takes in memory, where it is large: its pages, and its prepared statements. */
const indexFileBytes = 8 * 1024 * 1024
/** Handles of an index file: its own, its WAL's, and that of what its connections share; and as many for its readers. */
const indexFileHandles = 6

type Room = Readonly<{ memory: number; handles: number | undefined }>

/**
 * How many index files the projector of an embedded server has open at once, and its query threads together as many. What goes beyond is closed and
 * opened again: in each batch, where it is synced too, and in each search of all days.
 */
export function embeddedFilesOpen(
  { indexFilesOpenMax, embeddedFilesOpenMax }: Readonly<{ indexFilesOpenMax: number; embeddedFilesOpenMax: number }>,
  { memory, handles = Infinity }: Room = { memory: memoryBytes(), handles: openFilesMax() },
): number {
  const held = Math.max(indexFilesOpenMax, Math.min(embeddedFilesOpenMax, Math.floor(memory / indexFileBytes)))
  return Math.min(held, Math.floor(handles / indexFileHandles))
}
