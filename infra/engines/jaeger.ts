import { join } from 'node:path'
import type { Engine } from './engine.ts'
import { onFreePorts } from './free-ports.ts'
import { bringGoProgram } from './go-program.ts'
import { startNative } from './native-engine.ts'

/** A Jaeger: its `url` is where it is asked, `otlpUrl` where it takes spans in. */
type Jaeger = Engine & Readonly<{ otlpUrl: string }>

const bringJaeger = (): Promise<string> =>
  bringGoProgram({ name: 'jaeger', title: 'Jaeger', package: 'github.com/jaegertracing/jaeger/cmd/jaeger' })

/** `isSynced`: Badger syncs each span when it writes it, which is not its default. */
type JaegerOptions = Readonly<{ isSynced?: boolean }>

/** Jaeger with Badger, one process as jaeger/jaeger.yaml says, whose data is kept in `store`. */
export async function startJaeger(store: string, { isSynced = false }: JaegerOptions = {}): Promise<Jaeger> {
  const program = await bringJaeger()
  return onFreePorts(4, async (ports) => {
    const [otlp, query, grpc, health] = ports.map((port) => `127.0.0.1:${port}`)
    const engine = await startNative({
      name: 'jaeger',
      url: `http://${query}`,
      probe: { url: `http://${health}/status` },
      launch: () => ({
        command: program,
        args: ['--config', join(import.meta.dirname, 'jaeger', 'jaeger.yaml')],
        environment: {
          JAEGER_OTLP: otlp,
          JAEGER_QUERY: query,
          JAEGER_QUERY_GRPC: grpc,
          JAEGER_HEALTH: health,
          JAEGER_STORE: store,
          JAEGER_SYNCED: String(isSynced),
        },
      }),
    })
    return { ...engine, otlpUrl: `http://${otlp}` }
  })
}
