import { expect } from 'chai'
import { reachedFor, type IndexWriter } from '#projections/index-store.ts'
import type { NewEvent, Position } from '#src/events/envelope.ts'
import { PermanentError } from '#src/lib/failure.ts'
import { workspaceIdOf } from '#src/events/workspace-id.ts'
import type { Stream } from '#streams/stream.ts'
import { lineEvent } from './line-projections.ts'
import { start } from './projector-run.ts'

const index = 'counting-v1-001'
const small = workspaceIdOf('small')

/** A backlog of one workspace, and one event of another behind it. */
export const events: readonly NewEvent[] = [
  ...Array.from({ length: 40 }, (_, n) => lineEvent(n, ['a', 'b', 'c'])),
  lineEvent(100, ['x'], 'small'),
]

/** Folds until the other workspace is found ahead of its turn, and ends. Where the build then stands. */
export async function foldAhead(stream: Stream, writer: IndexWriter): Promise<Position> {
  const head = await stream.head()
  const run = start({ stream, writer })
  await run.until((told) => reachedFor(told, small) >= head && told.position < head)
  await run.stop()
  return (await writer.checkpoint(index)).position
}

/** With what the projector ends; nothing where it comes to the log's head. It also tells where it is while it begins. */
export async function failureOf(stream: Stream, writer: IndexWriter): Promise<unknown> {
  const atHead = Promise.withResolvers<undefined>()
  let beats = 0
  const run = start({
    stream: {
      ...stream,
      async head() {
        if (beats++ < 3) run.tick()
        return stream.head()
      },
    },
    writer: {
      ...writer,
      async heartbeat(name, told) {
        await writer.heartbeat(name, told)
        const head = await stream.head()
        if (told.position === head && told.head === head) atHead.resolve(undefined)
      },
    },
  })
  const failure = await Promise.race([run.ended.catch((error: unknown) => error), atHead.promise])
  await run.stop().catch(() => {})
  return failure
}

export function expectLost(failure: unknown, head: Position): void {
  expect(failure).to.be.instanceOf(PermanentError)
  expect(String(failure)).to.contain(`it ends at ${head}: the log has lost its tail`)
}

export function expectOther(failure: unknown, position: Position): void {
  expect(failure).to.be.instanceOf(PermanentError)
  expect(String(failure)).to.match(new RegExp(`read at position ${position} .*another event stands there`))
}
