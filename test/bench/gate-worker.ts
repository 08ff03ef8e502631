import { nothingGranted } from '#src/ingest/allowance.ts'
import type { ReservedAllowance } from '#src/ingest/reserved-allowance.ts'
import { openEmbeddedEngines } from '#src/compose/embedded.ts'
import { createWorkerHttp } from '#src/compose/http.ts'
import { readConfig } from '#src/config.ts'
import { createMetrics } from '#src/operations/metrics.ts'

// `open|kept --data FOLDER`: a worker that takes requests and folds nothing, with the span allowance or without any; says where it
// listens. It is killed when it is no longer wanted.

/** Grants everything and keeps no count: what ingest would be without an allowance. */
const openGate: ReservedAllowance = {
  take: ({ spans }) => ({ ...nothingGranted(0, null), granted: spans }),
  reserve: async ({ spans }) => ({ ...nothingGranted(0, null), granted: spans }),
  settle: () => undefined,
  release: () => undefined,
  doubt: () => undefined,
  sweep: async () => undefined,
  close: async () => undefined,
}

const [gate = '', ...flags] = process.argv.slice(2)
const config = readConfig(process.env, flags)
const engines = await openEmbeddedEngines(config)
const { allowances } = engines
const withGate = { ...engines, allowances: gate === 'open' ? allowances.map(() => openGate) : allowances }
const { server } = await createWorkerHttp(config, withGate, createMetrics())
process.on('disconnect', () => process.exit(1))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(`http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})
