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
 * How many connections a server of this process keeps while some of them are idle. Of as few files as it starts with, index files take half, and what
 * it has open besides a fifth.
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

/** What an index file that is open takes in memory, where it is large: its pages, and its prepared statements. */
const indexFileBytes = 8 * 1024 * 1024

type Most = Readonly<{ indexFilesOpenMax: number; embeddedFilesOpenMax: number }>
type Room = Readonly<{ memory: number; handles: number | undefined }>

/**
 * How many index files the projector of an embedded server has open at once, and its query threads together as many. What goes beyond is closed and
 * opened again: in each batch, where it is synced too, and in each search of all days.
 */
export function embeddedFilesOpen(
  { indexFilesOpenMax, embeddedFilesOpenMax }: Most,
  { memory, handles }: Room = { memory: memoryBytes(), handles: openFilesMax() },
): number {
  const held = Math.max(indexFilesOpenMax, Math.min(embeddedFilesOpenMax, Math.floor(memory / indexFileBytes)))
  return indexFilesOpen(held, 2, handles ?? Infinity)
}

/** The same of whoever reads or writes few of them beside these. */
export const fewFilesOpen = ({ indexFilesOpenMax }: Pick<Most, 'indexFilesOpenMax'>): number =>
  indexFilesOpen(indexFilesOpenMax, 8)
