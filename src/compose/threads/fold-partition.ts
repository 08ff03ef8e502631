import { parentPort } from 'node:worker_threads'
import type { IndexWriter } from '#projections/index-store.ts'
import { createProjector } from '#projections/folding/projector.ts'
import { startRetention } from '#projections/retention/retention-schedule.ts'
import { limits } from '#src/config.ts'
import { present } from '#src/lib/assert.ts'
import type { Stream } from '#streams/stream.ts'
import { explain } from '../failure.ts'
import type { createFolding } from '../folding.ts'
import { createKeepings } from '../keepings.ts'
import type { ProjectorMessage, ProjectorOrder } from './projector-messages.ts'

export type Tell = (message: ProjectorMessage) => void

/** The life of a thread that folds: it runs when it is told to start, until it is told to stop. */
export async function runWhenTold(run: (tell: Tell, signal: AbortSignal) => Promise<void>): Promise<void> {
  const port = present(parentPort, 'the projector runs in a thread')
  const stopped = new AbortController()
  const told = Promise.withResolvers<void>()
  port.on('message', (order: ProjectorOrder) => {
    if (order === 'stop') stopped.abort()
    told.resolve()
  })
  await told.promise
  try {
    if (!stopped.signal.aborted) await run((message) => port.postMessage(message), stopped.signal)
  } finally {
    port.close()
  }
}

type FoldedPartition = Readonly<{
  stream: Stream
  writer: IndexWriter
  directory: Pick<Stream, 'read'>
  folding: ReturnType<typeof createFolding>
  /** The name of a projection in messages to the operator. */
  nameOf: (projection: string) => string
}>

/** Folds a partition, and drops what has expired of it, until the signal aborts. Closes nothing. */
export async function foldPartition(
  { stream, writer, directory, folding, nameOf }: FoldedPartition,
  tell: Tell,
  signal: AbortSignal,
): Promise<void> {
  const { partition } = stream
  const projector = createProjector({
    stream,
    writer,
    ...folding,
    onFailure: ({ projection, error, retried }) =>
      tell({ kind: 'failed', projection: nameOf(projection), reason: explain(error), retried }),
    onRecovered: (projection) => tell({ kind: 'recovered', projection: nameOf(projection) }),
    onDeadLetter: (letter) => tell({ kind: 'leftOut', ...letter, projection: nameOf(letter.projection) }),
    onBeside: (beside) => tell({ kind: 'beside', ...beside, projection: nameOf(beside.projection) }),
  })
  const stopRetaining = startRetention(
    { stream, writer, ...folding, limits, keepings: createKeepings(directory) },
    {
      onRetained: (done) => tell({ kind: 'retained', partition, ...done }),
      onFailure: (error) => tell({ kind: 'notRetained', partition, reason: explain(error) }),
      onWaiting: (since, until) => tell({ kind: 'retentionWaits', partition, since, until }),
    },
  )
  try {
    tell({ kind: 'began', partition })
    await projector.run(signal)
  } finally {
    tell({ kind: 'ceased', partition })
    stopRetaining()
  }
}
