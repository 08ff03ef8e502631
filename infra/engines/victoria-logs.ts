import type { Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { bringGoProgram } from './go-program.ts'
import { startNative } from './native-engine.ts'

const bringVictoriaLogs = (): Promise<string> =>
  bringGoProgram({
    name: 'victoria-logs',
    title: 'VictoriaLogs',
    package: 'github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs',
    // Its releases pack with zstd's own library.
    cgo: true,
  })

/** VictoriaLogs with all its defaults but where it listens, whose data is kept in `store`. */
export async function startVictoriaLogs(store: string): Promise<Engine> {
  const program = await bringVictoriaLogs()
  return onFreePorts(1, ([port]) => {
    const address = `127.0.0.1:${port}`
    return startNative({
      name: 'victoria-logs',
      url: `http://${address}`,
      probe: { url: `http://${address}/health` },
      launch: () => ({
        command: program,
        args: [`-storageDataPath=${store}`, `-httpListenAddr=${address}`],
        environment: {},
      }),
    })
  })
}
