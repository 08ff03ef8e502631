import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bringNats } from '../../infra/engines/native-nats.ts'

/** A nats-server that is set up, or behaves, as ours should not. */
type PlainNats = Readonly<{
  url: string
  monitoring: string
  /** It hangs, and goes on where it was. */
  pause(): void
  resume(): void
  remove(): Promise<void>
}>

type Ports = Readonly<{ nats: readonly string[]; monitoring: readonly string[] }>

/** The server writes where it listens when it does. */
async function portsOf(folder: string, alive: () => boolean): Promise<Ports> {
  while (alive()) {
    const file = (await readdir(folder)).find((name) => name.endsWith('.ports'))
    const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8')
    if (text.endsWith('}')) return JSON.parse(text) as Ports
    await sleep(20)
  }
  throw new Error(`nats-server has ended: ${await readFile(join(folder, 'log'), 'utf8')}`)
}

/** Starts one with these lines of configuration; `$FOLDER` in them is a folder of its own. */
export async function startPlainNats(lines: string): Promise<PlainNats> {
  const folder = await mkdtemp(join(tmpdir(), 'throughline-nats-'))
  const own = `listen: 127.0.0.1:-1\nhttp: 127.0.0.1:-1\nports_file_dir: "${folder}"\nlog_file: "${folder}/log"\n`
  await writeFile(join(folder, 'nats.conf'), own + lines.replaceAll('$FOLDER', folder))
  const server = spawn(await bringNats(), ['--config', join(folder, 'nats.conf')], { stdio: 'ignore' })
  const ended = once(server, 'exit')
  const remove = async (): Promise<void> => {
    server.kill('SIGKILL')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const { nats, monitoring } = await portsOf(folder, () => server.exitCode === null)
    return {
      url: nats[0] ?? '',
      monitoring: monitoring[0] ?? '',
      pause: () => void server.kill('SIGSTOP'),
      resume: () => void server.kill('SIGCONT'),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}
