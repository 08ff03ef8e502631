import { PermanentError } from '#src/lib/failure.ts'
import type { IndexName } from '../index-store.ts'

/** A build that the writer has open. */
export function openedIn<Build>(builds: ReadonlyMap<IndexName, Build>, index: IndexName): Build {
  const build = builds.get(index)
  if (build === undefined) throw new PermanentError({ operation: 'use', subject: index, hint: 'open it first' })
  return build
}

/** What a store knows of a collection of a build. */
export function collectionIn<Known>(collections: ReadonlyMap<string, Known>, name: string): Known {
  const known = collections.get(name)
  if (known === undefined) throw new PermanentError({ operation: 'use', subject: `collection ${name}` })
  return known
}

const notOpened = (index: IndexName, hint: string): PermanentError =>
  new PermanentError({ operation: 'open', subject: index, hint })

export const otherLog = (index: IndexName): PermanentError =>
  notOpened(index, 'it follows another log: start a new build')
export const otherCollections = (index: IndexName): PermanentError =>
  notOpened(index, 'its collections are others: raise the version of the projection')
export const wasDropped = (index: IndexName): PermanentError => notOpened(index, 'it was dropped: start a new build')
