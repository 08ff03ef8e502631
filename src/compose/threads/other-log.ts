import { foldedBy, type IndexWriter } from '#projections/index-store.ts'
import type { Projection } from '#projections/projection.ts'
import { positionStep } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import type { Stream } from '#streams/stream.ts'

// If all builds were folded from another log, a projector folds new ones and drops those. But if that log is lost, they are the only copy of what it
// held, so they are dropped only if the operator says so.

type Options = Readonly<{
  stream: Pick<Stream, 'partition' | 'epoch'>
  writer: Pick<IndexWriter, 'builds'>
  projections: readonly Projection[]
  /** The operator says so (ALLOW_LOST_LOG); `tell` reports what is dropped. */
  allowLostLog: boolean
  tell: (line: string) => void
}>

/** Refuses a log that no build of the partition was folded from, if there are builds of another. */
export async function refuseOtherLog({ stream, writer, projections, allowLostLog, tell }: Options): Promise<void> {
  const builds = (await Promise.all(projections.map(({ name }) => writer.builds(name)))).flat()
  const position = Math.max(0, ...builds.map(foldedBy))
  // The first event of a log is none of a sender's.
  if (position <= positionStep || builds.some(({ epoch }) => epoch === stream.epoch)) return
  const found = `it is another log than its indexes were folded from, which hold what that one said up to position ${position}`
  const subject = `partition ${stream.partition}`
  if (allowLostLog) return tell(`${subject}: ${found}; they are folded anew without it, as ALLOW_LOST_LOG says`)
  const hint = `${found}: stop all processes and put that one back from a backup of NATS; or, to go on without what it held, set ALLOW_LOST_LOG=1`
  throw new PermanentError({ operation: 'fold', subject, hint })
}
