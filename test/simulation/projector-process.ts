import { createProjector } from '#projections/folding/projector.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import { decode, foldLimits, startMember, type Member, type Stage } from './stage.ts'

export type ProjectorProcess = Readonly<{
  member: Member
  /** Resolves when it has stopped in order. */
  stop(): Promise<void>
}>

/** Of two projectors one may drop a build before the other has heard of it. */
const isDropped = (error: unknown): boolean =>
  error instanceof PermanentError && error.message.includes('open it first')

const restartPauseMs = 500

/** A process that folds, and begins anew when its log cannot be read for now. */
export function startProjector(stage: Stage, name: string): ProjectorProcess {
  const { projections, violate } = stage
  const member = startMember(stage, name)
  const { process, stream, clock } = member
  const stopped = new AbortController()
  const runOnce = async (): Promise<void> => {
    const writer = member.writer()
    const projector = createProjector({
      stream,
      writer,
      projections,
      decode,
      clock,
      timers: process.timers,
      limits: foldLimits,
      onFailure: ({ projection, error, retried }) => {
        if (!retried && !isDropped(error)) violate(`${name} stops folding ${projection}: ${String(error)}`)
      },
    })
    try {
      await projector.run(stopped.signal)
      await writer.close()
    } catch (error) {
      if (!(error instanceof TransientError)) violate(`${name} stops: ${String(error)}`)
    }
  }
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await runOnce()
      await process.timers.pause(restartPauseMs)
    }
  }
  const ended = run()
  return {
    member,
    stop: async () => {
      stopped.abort()
      await Promise.race([ended, process.died])
    },
  }
}
