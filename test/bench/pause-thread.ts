import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '#test/support/server.ts'
import { processWithThread } from './process-usage.ts'

type Message = Readonly<{ id?: number; method?: string; params?: Readonly<Record<string, unknown>> }>
type WorkerInfo = Readonly<{ title: string }>

const patienceMs = 10_000

/** Where the inspector of the process listens. SIGUSR1 starts it; Node says on stderr where it is. */
async function inspectorUrl({ process: child, output }: Server, thread: string): Promise<string> {
  const urls = (): readonly string[] => output.flatMap((line) => /ws:\/\/\S+/.exec(line)?.[0] ?? [])
  const known = urls().at(-1)
  if (known !== undefined) return known
  const pid = processWithThread(child.pid ?? 0, thread)
  if (pid === undefined) throw new Error(`no thread of the server is named ${thread}`)
  process.kill(pid, 'SIGUSR1')
  for (const until = performance.now() + patienceMs; performance.now() < until; await sleep(20)) {
    const [url] = urls()
    if (url !== undefined) return url
  }
  throw new Error(`the inspector of process ${pid} did not start`)
}

async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error(`the inspector at ${url} does not answer`)))
  })
  return socket
}

/**
 * Halts one worker thread of the server where it is, from outside, with the inspector: production code has no switch for it.
 * What comes back lets it go on. Source: Chrome DevTools Protocol, Debugger; Node's NodeWorker domain.
 */
export async function pauseThread(server: Server, name: string): Promise<() => Promise<void>> {
  const socket = await openSocket(await inspectorUrl(server, name))
  const waiting = new Map<number, () => void>()
  let lastId = 0
  let session: unknown
  const attached = Promise.withResolvers<void>()
  const paused = Promise.withResolvers<void>()

  const call = (method: string, params: object = {}): Promise<void> =>
    new Promise((resolve) => {
      waiting.set(++lastId, resolve)
      socket.send(JSON.stringify({ id: lastId, method, params }))
    })
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params = {} } = JSON.parse(String(data)) as Message
    if (id !== undefined) waiting.get(id)?.()
    if (method === 'NodeWorker.attachedToWorker') {
      if ((params['workerInfo'] as WorkerInfo).title.endsWith(` ${name}`)) {
        session = params['sessionId']
        attached.resolve()
      }
    }
    if (method === 'NodeWorker.receivedMessageFromWorker' && params['sessionId'] === session) {
      const inner = JSON.parse(String(params['message'])) as Message
      if (inner.method === 'Debugger.paused') paused.resolve()
    }
  })
  let innerId = 0
  const tell = (method: string): Promise<void> => {
    const message = JSON.stringify({ id: ++innerId, method })
    return call('NodeWorker.sendMessageToWorker', { sessionId: session, message })
  }

  await call('NodeWorker.enable', { waitForDebuggerOnStart: false })
  await attached.promise
  await tell('Debugger.enable')
  await tell('Debugger.pause')
  await paused.promise
  return async () => {
    await tell('Debugger.resume')
    await tell('Debugger.disable')
    await call('NodeWorker.disable')
    socket.close()
  }
}
