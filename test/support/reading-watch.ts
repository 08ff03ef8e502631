import { answerOf, at, listOf, positionOf, type Reader } from './client.ts'
import { sendingTo } from './workspace.ts'
import type { Server } from './server.ts'

/**
 * A sender of single log records and a reader that knows which of them were acknowledged, at which position: each answer must
 * hold every record that its index had reached, once. Nobody else sends for that service.
 */
export function watchReading(
  server: Pick<Server, 'baseUrl' | 'firstRun'>,
  reader: Reader,
  sentMax: number,
  service = 'tracked',
) {
  const to = sendingTo(server, server.firstRun.keys)
  const acked = new Map<string, number>()
  const faults: string[] = []
  let answers = 0
  const stopped = new AbortController()

  async function send(): Promise<void> {
    while (!stopped.signal.aborted && acked.size < sentMax) {
      const name = `tracked ${acked.size}`
      const ack = await to.logs([{ message: name, service, level: 'info' }])
      acked.set(name, positionOf(ack))
    }
  }
  async function read(): Promise<void> {
    let furthest = 0
    while (!stopped.signal.aborted) {
      const known = [...acked]
      const body = await answerOf(reader, `/api/app/logs/search?service=${service}&limit=1000`)
      const position = Number(at(body, 'index', 'position'))
      const names = listOf(body, 'logs').map((log) => String(log['message']))
      const found = new Set(names)
      if (names.length !== found.size) faults.push(`a record twice at ${position}`)
      const missing = known.filter(([name, stoodAt]) => stoodAt <= position && !found.has(name))
      for (const [name, stoodAt] of missing) faults.push(`${name} of ${stoodAt} is missing at ${position}`)
      // What was found once is found ever after, whatever the index says of itself.
      if (found.size < furthest) faults.push(`${furthest} records were found, then ${found.size}`)
      furthest = Math.max(furthest, found.size)
      answers++
    }
  }
  const ended = Promise.all([send(), read()])
  return {
    /** Ends it; how many answers were looked at, and what was wrong with any. */
    async stop(): Promise<Readonly<{ answers: number; sent: number; faults: readonly string[] }>> {
      stopped.abort()
      await ended
      return { answers, sent: acked.size, faults }
    },
  }
}
