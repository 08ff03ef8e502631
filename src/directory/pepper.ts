import { createHmac } from 'node:crypto'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { PermanentError } from '#src/lib/failure.ts'

const markCharacters = 16

/** Identifies a pepper without revealing anything about it: 16 hex characters. */
export const pepperMark = (pepper: string): string =>
  createHmac('sha256', pepper).update('mark of the pepper').digest('hex').slice(0, markCharacters)

/**
 * Returns a check; pass it the directory's events in order. It throws PermanentError if the installation's first key was made with another
 * pepper than this process has. With the wrong pepper the process would recognise no key and refuse every sender for good.
 */
export function createPepperCheck(pepper: string): (event: DirectoryEvent) => void {
  let isKnown = false
  return (event) => {
    // The first key decides for all processes alike. A later key made with another pepper is recognised by none.
    if (isKnown || event.type !== 'directory.key.created' || event.pepper === undefined) return
    isKnown = true
    if (event.pepper === pepperMark(pepper)) return
    const subject = 'KEY_PEPPER (in a data folder: the pepper of secrets.json)'
    const hint = 'the keys of this installation were made with another one: start every process with that one'
    throw new PermanentError({ operation: 'check', subject, hint })
  }
}
