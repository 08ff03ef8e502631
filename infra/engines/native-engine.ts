import { createDaemon, type Launch } from './daemon.ts'
import type { Engine } from './engine.ts'

const startTimeoutMs = 120_000
const probeTimeoutMs = 5_000

/** `probe`: what answers 200 as soon as the server serves. */
export type NativeEngine = Readonly<{
  name: string
  url: string
  launch: (folder: string) => Launch
  probe: Readonly<{ url: string; headers?: Readonly<Record<string, string>> }>
}>

async function answers({ url, headers = {} }: NativeEngine['probe']): Promise<boolean> {
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(probeTimeoutMs) })
    await response.body?.cancel()
    return response.status === 200
  } catch {
    return false
  }
}

/** Runs a server of this machine in a folder of its own. */
export async function startNative({ name, url, launch, probe }: NativeEngine): Promise<Engine> {
  const daemon = createDaemon(name)
  const launched = launch(daemon.folder)
  const start = (): Promise<void> => daemon.start(launched, () => answers(probe), startTimeoutMs)
  try {
    await start()
  } catch (failure) {
    await daemon.remove()
    throw failure
  }
  return {
    url,
    start,
    stop: () => daemon.end('SIGTERM'),
    kill: () => daemon.end('SIGKILL'),
    remove: daemon.remove,
    group: daemon.group,
  }
}
