import { openEmbeddedEngines } from '#src/compose/embedded.ts'
import { createWorkerHttp } from '#src/compose/http.ts'
import { readConfig } from '#src/config.ts'
import { createMetrics } from '#src/operations/metrics.ts'

/**
 * `--data FOLDER --port PORT`: a worker as a replacement has them beside each other, on a socket of its own: it takes requests and
 * folds nothing. Prints its address. Ends well on SIGTERM, and with whoever holds its standard input.
 */
const config = readConfig(process.env, process.argv.slice(2))
const engines = await openEmbeddedEngines(config)
const { server, stop } = await createWorkerHttp(config, engines, createMetrics())
process.stdin.on('close', () => process.exit(1)).resume()
process.on('SIGTERM', () => {
  server.closeIdleConnections()
  void stop()
    .then(engines.close)
    .then(() => process.exit(0))
})
server.listen(config.port, '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
  engines.sweep()
})
