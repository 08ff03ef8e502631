import { setTimeout } from 'node:timers/promises'
import { getContainerRuntimeClient, type GenericContainer } from 'testcontainers'
import type { Engine } from './engine.ts'
import { answers, type Probe } from './probe.ts'

const startTimeoutMs = 300_000
const stopTimeoutSeconds = 60

async function untilReady(name: string, probe: Probe): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await answers(probe))) {
    if (Date.now() > deadline) throw new Error(`${name} was not ready after ${startTimeoutMs / 1000} s`)
    await setTimeout(100)
  }
}

/** Runs a server in a container. Its data is in the container, and so outlives a stop; its ports must be fixed ones of the host. */
export async function startContainer(container: GenericContainer, url: string, probe: Probe): Promise<Engine> {
  const started = await container.withStartupTimeout(startTimeoutMs).start()
  const client = await getContainerRuntimeClient()
  const docker = client.container.getById(started.getId())
  try {
    await untilReady(started.getName(), probe)
  } catch (failure) {
    await started.stop()
    throw failure
  }
  return {
    url,
    healthUrl: probe.url,
    start: async () => {
      await docker.start()
      await untilReady(started.getName(), probe)
    },
    stop: async () => {
      await docker.stop({ t: stopTimeoutSeconds })
    },
    kill: async () => {
      await docker.kill()
    },
    pause: async () => {
      await docker.pause()
    },
    resume: async () => {
      await docker.unpause()
    },
    remove: async () => {
      await started.stop()
    },
    group: () => undefined,
  }
}
