import type { BuildPlace } from '#projections/builds/build-place.ts'
import { limits } from '#src/config.ts'
import { createFilesAudit, type FilesPlace } from './files-audit.ts'
import { fewFilesOpen } from './open-files.ts'
import { createFilesWriter, type LogPlace, type Room } from './places.ts'
import { foldInThreads } from './threads/fold-threads.ts'

/** Builds in files, folded from a log by threads. */
export const createFilesPlace = (files: FilesPlace, room: Room, log: LogPlace): BuildPlace => ({
  writer: () => createFilesWriter({ ...files, limits: { indexFilesOpenMax: fewFilesOpen(limits) } }, room),
  audit: () => createFilesAudit(files),
  fold: foldInThreads(log, { ...files, room }),
})
