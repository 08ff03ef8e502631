import type { Position } from '#src/events/envelope.ts'
import type { Limits } from '#src/config.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import type { Clock } from '#src/lib/clock.ts'
import { PermanentError, TransientError } from '#src/lib/failure.ts'
import type { Result } from '#src/lib/result.ts'
import { systemTimers } from '#src/lib/timers.ts'
import { follow } from '#streams/follow.ts'
import type { Stream } from '#streams/stream.ts'
import { createCatchUp } from './catch-up.ts'
import { createDirectoryView, type DirectoryReads, type HeldView } from './directory-view.ts'
import type { SessionLimits } from './directory-state.ts'
import { createDirectoryWriter, type Refused } from './directory-writer.ts'
import type { FollowedView } from './directory.ts'
import {
  createInstallation,
  type Installation,
  type KeepSecrets,
  type WantedInstallation,
} from './create-installation.ts'
import { createKeyCommands, type KeyCommands } from './key-commands.ts'
import type { RandomBytes } from './keys.ts'
import type { KeyLimits } from './new-key.ts'
import type { Passwords } from './passwords.ts'
import type { Plans } from './plans.ts'
import { readAudit, type AuditPage } from './read-audit.ts'
import { createSessionCommands, type SessionCommands } from './session-commands.ts'
import { createUserCommands, type UserCommands } from './user-commands.ts'
import { createWorkspaceCommands, type WorkspaceCommands } from './workspace-commands.ts'

const readEventsMax = 1_000
const retryFirstMs = 50
const retryMaxMs = 2_000

/**
 * Workspaces, plans, members, keys and sessions of an installation: a view of the directory log that follows what every
 * process appends, and the commands that append. A command resolves when its events are durable and this view shows them;
 * it rejects as the stream does.
 */
export interface Directory
  extends FollowedView, DirectoryReads, WorkspaceCommands, UserCommands, KeyCommands, SessionCommands {
  /** A workspace, its owner and its keys in one step. Refused if the directory is not empty. */
  createInstallation(wanted: WantedInstallation, keep: KeepSecrets): Promise<Result<Installation, Refused>>
  /** What was done in a workspace, newest first: sign-ins, members, keys, plans, exports. The last 10,000 entries. */
  audit(workspaceId: WorkspaceId, page: Readonly<{ before?: Position; limit: number }>): Promise<AuditPage>
  /** True as soon as the view reaches the position; false after the time, or when following has ended. */
  followed(position: Position, timeoutMs: number): Promise<boolean>
  /** Stops following. The stream stays open. */
  close(): Promise<void>
}

type Options = Readonly<{
  stream: Stream
  clock: Clock
  random: RandomBytes
  pepper: string
  plans: Plans
  limits: SessionLimits & KeyLimits & Pick<Limits, 'clockMinMs'>
  passwords: Passwords
  /**
   * Following has failed for good. The view is stale from now on, so the process must end: it would accept a key that was revoked
   * elsewhere.
   */
  onStop: (error: Error) => void
  /** Following has failed for now, and is tried again: until then the view is as it was. */
  onRetry?: ((error: unknown) => void) | undefined
  /** How long the log is tried again until its head is reached, ms; without limit by default. */
  patienceMs?: number
}>

type Follower = Readonly<{ atHead: Promise<void>; followed: Directory['followed']; close: () => Promise<void> }>
type Waiter = Readonly<{ position: Position; settle: (isThere: boolean) => void }>

/** Callers that wait for the view to reach a position. */
function createWaiters(view: HeldView, signal: AbortSignal) {
  const waiting = new Set<Waiter>()
  return {
    wake: (): void => {
      const position = view.position()
      for (const waiter of waiting)
        if (signal.aborted || waiter.position <= position) waiter.settle(waiter.position <= position)
    },
    followed: (position: Position, timeoutMs: number): Promise<boolean> =>
      new Promise((resolve) => {
        if (signal.aborted || view.position() >= position) return resolve(view.position() >= position)
        const waiter: Waiter = {
          position,
          settle: (isThere) => {
            clearTimeout(timer)
            waiting.delete(waiter)
            resolve(isThere)
          },
        }
        const timer = setTimeout(() => waiter.settle(false), timeoutMs)
        waiting.add(waiter)
      }),
  }
}

type FollowOptions = Pick<Options, 'stream' | 'clock' | 'onStop' | 'onRetry' | 'patienceMs'>

function followInto(view: HeldView, options: FollowOptions): Follower {
  const { stream, clock, onStop, onRetry, patienceMs = Infinity } = options
  const begunAt = clock()
  let isAtHead = false
  const ended = new AbortController()
  const { signal } = ended
  const waiters = createWaiters(view, signal)
  const head = Promise.withResolvers<void>()
  let retryMs = retryFirstMs

  async function followOnce(): Promise<void> {
    for await (const events of follow(stream, view.position(), readEventsMax, signal)) {
      for (const event of events) view.apply(event)
      retryMs = retryFirstMs
      waiters.wake()
      if (events.length > 0) continue
      isAtHead = true
      head.resolve()
    }
  }
  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await followOnce()
      } catch (error) {
        const isOver = !isAtHead && clock() - begunAt >= patienceMs
        if (!(error instanceof TransientError) || isOver) throw error
        onRetry?.(error)
        await systemTimers.pause(retryMs, signal)
        retryMs = Math.min(retryMs * 2, retryMaxMs)
      }
    }
  }
  const running = run().catch((error: unknown) => {
    const cause = error instanceof Error ? error : new Error(String(error))
    ended.abort()
    waiters.wake()
    head.reject(cause)
    onStop(cause)
  })
  return {
    atHead: head.promise,
    followed: waiters.followed,
    close: async () => {
      ended.abort()
      waiters.wake()
      await running
    },
  }
}

/**
 * Resolves when the view has reached the log's head. Rejects with PermanentError if the log cannot be read, and as the stream does where that
 * lasts longer than `patienceMs`.
 */
export async function createDirectory(options: Options): Promise<Directory> {
  const { stream, clock, random, pepper, plans, limits, passwords } = options
  const view = createDirectoryView({ plans, pepper, clock, limits })
  let isReady = false
  const onStop = (error: Error): void => {
    if (isReady) options.onStop(error)
  }
  const { atHead, followed, close } = followInto(view, { ...options, onStop })
  try {
    await atHead
  } catch (cause) {
    if (cause instanceof TransientError) throw cause
    throw new PermanentError({ operation: 'open', subject: 'directory', cause })
  }
  isReady = true
  const writer = createDirectoryWriter({ stream, view, clock, clockMinMs: limits.clockMinMs, random, followed })
  const users = createUserCommands(writer, passwords)
  return {
    ...view,
    ...createWorkspaceCommands(writer, plans),
    ...users,
    ...createKeyCommands(writer, pepper, limits),
    ...createSessionCommands(writer, limits),
    createInstallation: (wanted, keep) => createInstallation(writer, { pepper, passwords }, wanted, keep),
    audit: (workspaceId, { before = Infinity, limit }) =>
      readAudit({ stream, trail: view.trail }, workspaceId, { before, limit }),
    followed,
    caughtUp: createCatchUp({ stream, followed }),
    close,
  }
}
