import { setImmediate as nextTurn } from 'node:timers/promises'
import { limits } from '#src/config.ts'
import { createSqliteStream } from '#streams/sqlite/stream.ts'
import { makeEvent } from '../../support/make-event.ts'

/**
 * `append FILE PREFIX COUNT THREAD`: appends COUNT events, up to 20 at a time, and prints each id once it is acknowledged;
 * prints `refused NAME` for each of the first two that are not, and ends.
 */
const [file = '', prefix = '', count = '0', thread = ''] = process.argv.slice(2)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const stream = await createSqliteStream({
  file,
  partition: '0',
  thread: thread === 'thread',
  limits,
  onBroken: (error) => say(`broken ${error.name}`),
})
const state = { sent: 0, underWay: 0, refused: 0 }
while (state.sent < Number(count) && state.refused < 2) {
  if (state.underWay < 20) {
    const event = makeEvent(`${prefix}-${state.sent++}`, { payload: Buffer.alloc(700, prefix) })
    state.underWay++
    void stream
      .append([event])
      .then(
        () => say(event.id),
        (error: Error) => {
          if (++state.refused <= 2) say(`refused ${error.name}`)
        },
      )
      .finally(() => state.underWay--)
  }
  await nextTurn()
}
while (state.underWay > 0) await nextTurn()
await stream.close()
