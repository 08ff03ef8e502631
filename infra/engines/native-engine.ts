import { createDaemon, type Launch } from './daemon.ts'
import type { Engine } from './engine.ts'
import { answers, type Probe } from './probe.ts'

const startTimeoutMs = 300_000

type NativeEngine = Readonly<{ name: string; url: string; launch: (folder: string) => Launch; probe: Probe }>

/** Runs a server of this machine in a folder of its own. */
export async function startNative({ name, url, launch, probe }: NativeEngine): Promise<Engine> {
  const daemon = createDaemon(name)
  let start: () => Promise<void>
  try {
    const launched = launch(daemon.folder)
    start = () => daemon.start(launched, () => answers(probe), startTimeoutMs)
    await start()
  } catch (failure) {
    await daemon.remove()
    throw failure
  }
  return {
    url,
    healthUrl: probe.url,
    start,
    stop: () => daemon.end('SIGTERM'),
    kill: () => daemon.end('SIGKILL'),
    pause: async () => daemon.signal('SIGSTOP'),
    resume: async () => daemon.signal('SIGCONT'),
    remove: daemon.remove,
    group: daemon.group,
  }
}
