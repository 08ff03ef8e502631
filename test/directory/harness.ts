import { randomBytes } from 'node:crypto'
import type { Stream } from '#streams/stream.ts'
import { createMemoryStream } from '#streams/memory/stream.ts'
import { limits, plans, type Limits } from '#src/config.ts'
import { createDirectory, type Directory } from '#src/directory/create-directory.ts'
import type { Plans } from '#src/directory/plans.ts'
import type { Workspace } from '#src/directory/directory.ts'
import { createPasswords, type Passwords } from '#src/directory/passwords.ts'
import type { Result } from '#src/lib/result.ts'

export { limits }
export const day = 86_400_000
export const pepper = 'a pepper that is long enough for a test'
/** Cheap on purpose: what the cost is plays no part here. */
export const passwords = createPasswords({ random: randomBytes, cost: 4, waitingMax: 10_000 })

/** Time that stands still until it is moved. */
export function createTestClock(at = Date.UTC(2026, 10, 21)) {
  let now = at
  return Object.assign(() => now, {
    advance: (ms: number) => {
      now += ms
    },
  })
}
type TestClock = ReturnType<typeof createTestClock>

export type Opened = Readonly<{ directory: Directory; stream: Stream; clock: TestClock; stops: Error[] }>

export const newStream = (): Stream => createMemoryStream({ partition: 'directory' })

/** A directory over a memory stream; give the same stream twice to have two processes. */
export async function openDirectory(
  given: Readonly<{
    stream?: Stream
    clock?: TestClock
    plans?: Plans
    pepper?: string
    limits?: Partial<Limits>
    passwords?: Passwords
  }> = {},
): Promise<Opened> {
  const stream = given.stream ?? newStream()
  const clock = given.clock ?? createTestClock()
  const stops: Error[] = []
  const directory = await createDirectory({
    stream,
    clock,
    random: randomBytes,
    pepper: given.pepper ?? pepper,
    plans: given.plans ?? plans,
    limits: { ...limits, ...given.limits },
    passwords: given.passwords ?? passwords,
    onStop: (error) => stops.push(error),
  })
  return { directory, stream, clock, stops }
}

/** The value of a result that must be one. */
export function valueOf<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

export async function createWorkspace(directory: Directory, name: string, plan = 'pro'): Promise<Workspace> {
  return valueOf(await directory.createWorkspace({ name, plan }))
}
