// A customer's program: logs with winston's own Http transport. argv: HOST PORT TOKEN single|batch; prints a line of JSON a
// record, as handed to the transport. Fails when the transport warns, which is all that it ever does about a failure.
import winston from 'winston'

const [host = '', port = '', bearer = '', mode = 'single'] = process.argv.slice(2)
const http = new winston.transports.Http({
  host,
  port: Number(port),
  path: '/api/logs/v1/ingest',
  auth: { bearer },
  ...(mode === 'batch' ? { batch: true, batchCount: 4, batchInterval: 200 } : {}),
})
http.on('warn', (error: Error) => {
  console.error(error)
  process.exitCode = 1
})
const logger = winston.createLogger({
  level: 'silly',
  format: winston.format.timestamp(),
  defaultMeta: { service: `parcels-${mode}` },
  transports: [http, new winston.transports.Console({ format: winston.format.json() })],
})
for (const [index, level] of ['error', 'warn', 'info', 'http', 'verbose', 'debug', 'silly'].entries()) {
  logger.log(level, `parcel ${index} ✓`, {
    parcel: 9007199254740991 - index,
    weight: 1.5,
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    span_id: '00f067aa0ba902b7',
    route: { from: 'Köln', stops: [1, 2, 3] },
  })
}
