import { createHmac } from 'node:crypto'
import type { DirectoryEvent } from '#src/events/directory.ts'
import { PermanentError } from '#src/lib/failure.ts'

const markCharacters = 16

/** Tells one pepper from another and says nothing else of it: 16 hex characters. */
export const pepperMark = (pepper: string): string =>
  createHmac('sha256', pepper).update('mark of the pepper').digest('hex').slice(0, markCharacters)

/**
 * A check to be given the directory's events in their order: throws PermanentError when the installation's first key was made with
 * another pepper than this process has. It would know none of the keys, and would refuse every sender for good.
 */
export function createPepperCheck(pepper: string): (event: DirectoryEvent) => void {
  let isKnown = false
  return (event) => {
    // The first key settles it for all processes alike; a key that was made with another one later is known to none.
    if (isKnown || event.type !== 'directory.key.created' || event.pepper === undefined) return
    isKnown = true
    if (event.pepper === pepperMark(pepper)) return
    const subject = 'KEY_PEPPER (in a data folder: the pepper of secrets.json)'
    const hint = 'the keys of this installation were made with another one: start every process with that one'
    throw new PermanentError({ operation: 'check', subject, hint })
  }
}
