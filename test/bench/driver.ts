import { setTimeout as sleep } from 'node:timers/promises'
import { openBodies } from './bodies.ts'
import type { DriverAnswer, DriverTask, LoadTask, QueryTask } from './driver-task.ts'
import { openConnection, type RawAnswer, type RawConnection } from './raw-client.ts'

// The load driver, a process of its own: what it costs is not the server's.

const answersMax = 20

/** An answer's beginning, for people; what is no text shows as dots. */
const printable = (body: Buffer): string => body.toString('latin1', 0, 300).replace(/[^\x20-\x7e]+/g, '·')

function createNotes(count: number) {
  const begun = process.cpuUsage()
  const latencies = new Float64Array(count)
  const answers = new Map<string, number>()
  let position = 0
  return {
    take(index: number, ms: number, { status, head, body }: RawAnswer, withBody: boolean): void {
      latencies[index] = ms
      const isShown = withBody || status < 200 || status > 299
      const key = isShown ? `${status} ${printable(body)}` : String(status)
      if (answers.has(key) || answers.size < answersMax) answers.set(key, (answers.get(key) ?? 0) + 1)
      else answers.set('others', (answers.get('others') ?? 0) + 1)
      position = Math.max(position, Number(/throughline-position: \w+\/(\d+)/i.exec(head)?.[1] ?? 0))
    },
    answer: (seconds: number): DriverAnswer => {
      const { user, system } = process.cpuUsage(begun)
      return { seconds, cpuSeconds: (user + system) / 1e6, latencies: latencies.sort(), answers, position }
    },
  }
}

async function runLoad(task: LoadTask): Promise<DriverAnswer> {
  const { hostname, port, pathname, search, host } = new URL(task.url)
  const reader = openBodies(task)
  const headers = Object.entries({ host, ...task.headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const heads = task.keys.map(
    (key) => `POST ${pathname}${search} HTTP/1.1\r\n${headers.join('')}authorization: ${key}\r\n`,
  )
  const connections: RawConnection[] = []
  for (let count = 0; count < task.connections; count++) connections.push(await openConnection(hostname, Number(port)))
  const notes = createNotes(task.to - task.from)
  let next = task.from
  const start = performance.now()

  /** When the request's time begins: at once, or when it was due if this connection was not free before. */
  const begin = async (index: number): Promise<number> => {
    if (task.perSecond === undefined) return performance.now()
    const due = start + ((index - task.from) * 1_000) / task.perSecond
    if (due <= performance.now()) return due
    await sleep(due - performance.now())
    return performance.now()
  }
  const send = async (connection: RawConnection): Promise<void> => {
    while (next < task.to) {
      const index = next++
      const body = reader.read(index)
      const head = `${heads[index % heads.length]}content-length: ${body.length}\r\n\r\n`
      const began = await begin(index)
      const answer = await connection.request(head, body)
      notes.take(index - task.from, performance.now() - began, answer, true)
    }
  }
  await Promise.all(connections.map(send))
  const seconds = (performance.now() - start) / 1_000
  for (const connection of connections) connection.close()
  reader.close()
  return notes.answer(seconds)
}

async function runQueries({ url, cookie, paths, rounds }: QueryTask): Promise<DriverAnswer> {
  const { hostname, port, host } = new URL(url)
  const connection = await openConnection(hostname, Number(port))
  const notes = createNotes(paths.length * rounds)
  const start = performance.now()
  for (let index = 0; index < paths.length * rounds; index++) {
    const path = paths[index % paths.length] ?? '/'
    const began = performance.now()
    const answer = await connection.request(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\n\r\n`)
    notes.take(index, performance.now() - began, answer, false)
  }
  const seconds = (performance.now() - start) / 1_000
  connection.close()
  return notes.answer(seconds)
}

process.on('message', (task: DriverTask) => {
  const run = task.kind === 'load' ? runLoad(task) : runQueries(task)
  run.then(
    (answer) => process.send?.({ answer }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  )
})
