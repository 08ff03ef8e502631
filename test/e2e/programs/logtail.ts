// A customer's program: logs with @logtail/node. argv: URL TOKEN COUNT SERVICE.
import { Logtail } from '@logtail/node'

const [endpoint = '', token = '', count = '10', service = 'billing'] = process.argv.slice(2)
const logtail = new Logtail(token, { endpoint })
const levels = ['debug', 'info', 'warn', 'error'] as const
for (let index = 0; index < Number(count); index++) {
  void logtail[levels[index % 4] ?? 'info'](`logtail line ${index}`, {
    service,
    order: index,
    trace_id: '0af7651916cd43dd8448eb211c80319c',
    nested: { amount: 12.5, currency: '€' },
  })
}
await logtail.flush()
