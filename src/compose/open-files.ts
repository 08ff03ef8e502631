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

/**
 * How many connections a server keeps while some of them are idle. Index files take half of the handles; of the fewest that a server starts with,
 * everything else takes a fifth.
 */
export const connectionsMax = (handles: number = openFilesMax() ?? Infinity): number => Math.floor(handles / 4)

/** Handles of an index file that is open: its own, its WAL's, and that of what its connections share. */
const indexFileHandles = 3

/**
 * How many index files each of so many threads of this process may keep open. Together they take half of the handles: senders need one for each
 * connection, and a search may open more while it lasts, 90 for an id in each day of a month.
 */
export const indexFilesOpen = (most: number, threads: number, handles: number = openFilesMax() ?? Infinity): number =>
  Math.min(most, Math.max(1, Math.floor(handles / 2 / indexFileHandles / threads)))

/** Memory of a large index file that is open: its pages and prepared statements. */
const indexFileBytes = 8 * 1024 * 1024

type Most = Readonly<{ indexFilesOpenMax: number; embeddedFilesOpenMax: number }>
type Room = Readonly<{ memory: number; handles: number | undefined }>

/**
 * How many index files the projector of an embedded server keeps open; its query threads together keep as many. Others are closed and opened again:
 * in each batch, which also syncs them, and in each search of all days.
 */
export function embeddedFilesOpen(
  { indexFilesOpenMax, embeddedFilesOpenMax }: Most,
  { memory, handles }: Room = { memory: memoryBytes(), handles: openFilesMax() },
): number {
  const held = Math.max(indexFilesOpenMax, Math.min(embeddedFilesOpenMax, Math.floor(memory / indexFileBytes)))
  return indexFilesOpen(held, 2, handles ?? Infinity)
}

/** The same for those who read or write a few index files beside these. */
export const fewFilesOpen = ({ indexFilesOpenMax }: Pick<Most, 'indexFilesOpenMax'>): number =>
  indexFilesOpen(indexFilesOpenMax, 8)
