import type { Stream } from '#streams/stream.ts'

/** Far more than any test asks in one turn of the event loop. */
const askedMax = 10_000

/**
 * A log in memory that is asked without end for the newest event of a subject refuses for good, and says so. Its answers take no turn of the event
 * loop: so a loop over them would let no timer run, and no test that it hangs would fail.
 */
export function endingTurns(stream: Stream): Stream {
  let asked = 0
  let endless: Error | undefined
  return {
    ...stream,
    last: async (subject) => {
      if (asked++ === 0) setImmediate(() => (asked = 0))
      if (asked > askedMax) endless ??= new Error(`turns at ${subject} do not end: they ask for it again and again`)
      if (endless !== undefined) throw endless
      return stream.last(subject)
    },
  }
}
