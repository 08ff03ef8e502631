// A customer's program: logs with pino, shipped by the transport @logtail/pino, which sends the rest when the program ends.
// argv: URL TOKEN; prints the same lines.
import { pino } from 'pino'

const [endpoint = '', sourceToken = ''] = process.argv.slice(2)
const transport = pino.transport({
  targets: [
    { target: '@logtail/pino', level: 'trace', options: { sourceToken, options: { endpoint } } },
    { target: 'pino/file', level: 'trace', options: { destination: 1 } },
  ],
})
const base = { service: 'returns' }
const log = pino({ base, level: 'trace', timestamp: pino.stdTimeFunctions.isoTime }, transport)
log.trace('label printed')
log.debug({ cache: { hit: false, key: 'ü' } }, 'looked up')
log.info(
  { order: 9007199254740991, trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  'return stored',
)
log.warn({ retries: 3, ratio: 0.25 }, 'slow reply')
log.error({ err: new Error('refund declined') }, 'return failed')
log.fatal({ shelves: [1, 2] }, 'giving up')
