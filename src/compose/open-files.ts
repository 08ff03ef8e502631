import { readFileSync } from 'node:fs'
import { PermanentError } from '#src/lib/failure.ts'

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
