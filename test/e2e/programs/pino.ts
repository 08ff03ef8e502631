// A customer's program: logs with pino to its standard output, as JSON lines. argv: SERVICE.
import { pino } from 'pino'

const [service = 'orders'] = process.argv.slice(2)
const log = pino({ base: { service }, level: 'trace' })
log.trace('entering')
log.debug({ cache: 'cold' }, 'looked up')
log.info(
  { order: 9007199254740991, trace_id: '4bf92f3577b34da6a3ce929d0e0e4736', span_id: '00f067aa0ba902b7' },
  'order stored',
)
log.warn({ retries: 3 }, 'slow reply')
log.error({ err: new Error('payment declined') }, 'order failed')
log.fatal('giving up')
