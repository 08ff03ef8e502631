import type { Position } from '#src/events/envelope.ts'
import { present } from '#src/lib/assert.ts'
import { freeBytes } from '#src/lib/free-bytes.ts'
import type { ErasureStep } from './erase.ts'
import { createAnnouncer, type Announcer } from './waker.ts'
import { createLogWriter, type LogWriter, type LogWriterOptions } from './writer.ts'
import type { Group, Outcome } from './write-group.ts'

/** A log's writer as its stream uses it, in this thread or in another. */
export interface RemoteWriter {
  open(): Promise<void>
  /** Takes ownership of the group's bytes: the caller must not use them again. */
  commit(group: Group): Promise<readonly Outcome[]>
  broken(): Promise<boolean>
  /** One step; see `LogWriter.cut`. */
  cut(upTo: Position): Promise<boolean>
  /** One step; see `LogWriter.erase`. */
  erase(step: ErasureStep): Promise<number | undefined>
  close(): Promise<void>
}

/** The writer in this thread. It runs checkpoints in the turn after a commit, when the answer has been sent. */
export function createLocalWriter(options: LogWriterOptions): RemoteWriter {
  let open: Readonly<{ writer: LogWriter; announcer: Announcer }> | undefined
  /** The writer for one call; it tidies in the next turn. */
  const writer = (): LogWriter => {
    setImmediate(() => open?.writer.tidy())
    return present(open, 'a writer is opened first').writer
  }
  return {
    open: async () => {
      const announcer = createAnnouncer(options.file)
      try {
        open = { announcer, writer: createLogWriter(options, announcer.announce) }
      } catch (error) {
        announcer.close()
        throw error
      }
    },
    commit: async (group) => {
      try {
        return writer().commit(group)
      } finally {
        freeBytes(group.payloads)
      }
    },
    cut: async (upTo) => writer().cut(upTo),
    erase: async (step) => writer().erase(step),
    broken: async () => open?.writer.broken() ?? false,
    close: async () => {
      open?.writer.close()
      open?.announcer.close()
      open = undefined
    },
  }
}
