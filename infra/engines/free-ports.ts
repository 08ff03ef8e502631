import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the range from which Linux and macOS give ports to clients: a client that tries again and again to reach an engine that
 * is down would at last be given the engine's own port, reach itself, and hold the port when the engine comes back.
 */
const [lowest, beyond] = [20_000, 32_768]

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  const closed = once(server, 'close')
  server.close()
  await closed
  return true
}

async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(lowest, beyond)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

/** An engine has its port from us, and another program may take it first. */
const isTaken = (failure: unknown): boolean => /already (?:in use|allocated)|BindException/i.test(String(failure))

/** Starts something on ports that are free, and again on others where one was taken meanwhile. */
export async function onFreePorts<Started>(
  count: number,
  start: (ports: readonly number[]) => Promise<Started>,
): Promise<Started> {
  for (let attemptsLeft = 2; ; attemptsLeft--) {
    try {
      return await start(await freePorts(count))
    } catch (failure) {
      if (attemptsLeft === 0 || !isTaken(failure)) throw failure
    }
  }
}
