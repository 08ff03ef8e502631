import { once } from 'node:events'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { Context } from 'koa'
import { z } from 'zod'
import type { Session } from '#src/directory/directory.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { csvRecord } from '#src/lib/csv.ts'
import type { Json } from '#src/lib/json.ts'
import { stringifyJson } from '#src/lib/json.ts'
import { exportLogs, type LogItem } from '#projections/logs/query.ts'
import type { QueryContext } from './context.ts'
import { logFilters, prepareLogs } from './logs.ts'
import { readParameters } from './parameters.ts'

const parameters = z.object({ ...logFilters, format: z.enum(['ndjson', 'csv']).default('ndjson') })
type Format = z.output<typeof parameters>['format']

const columns = ['id', 'timestamp', 'level', 'message', 'service', 'trace_id', 'span_id', 'session_id'] as const

/** A field by its dotted name: as one key, or through nested objects. */
function fieldOf(fields: Json | undefined, name: string): Json | undefined {
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return undefined
  const own = new Map(Object.entries(fields))
  if (own.has(name)) return own.get(name)
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const found = fieldOf(own.get(name.slice(0, dot)), name.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

const cellText = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'string' ? value : stringifyJson(value)

function csvLines(items: readonly LogItem[], fields: readonly string[] | undefined): string {
  const lines = items.map((item) => {
    const own = columns.map((column) => cellText(item[column]))
    const rest = fields?.map((name) => cellText(fieldOf(item.fields, name))) ?? [stringifyJson(item.fields)]
    return csvRecord([...own, ...rest])
  })
  return lines.join('')
}

async function* render(
  batches: AsyncIterable<readonly LogItem[]>,
  format: Format,
  fields: readonly string[] | undefined,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvRecord([...columns, ...(fields ?? ['fields'])])
  for await (const items of batches) {
    yield format === 'csv' ? csvLines(items, fields) : items.map((item) => `${stringifyJson(item)}\n`).join('')
  }
}

/** `logs_acme_2026-11-21T07-00-00Z.ndjson` */
function fileName(session: Session, format: Format, nowMs: number): string {
  return `logs_${session.workspaceId}_${new Date(nowMs).toISOString().slice(0, 19).replaceAll(':', '-')}Z.${format}`
}

/** The text in the coding that the client takes. A failure or a client that hangs up ends both sides. */
function encoded(ctx: Context, text: Readable): Readable {
  if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return text
  ctx.set('Content-Encoding', 'gzip')
  const zipped = createGzip({ level: 1 })
  text.once('error', (error) => zipped.destroy(error))
  zipped.once('close', () => text.destroy())
  return text.pipe(zipped)
}

/**
 * GET /app/logs/export (CONTRACT §8): every match of one snapshot, streamed by keyset pages with constant memory. `X-Export-Matched`
 * says beforehand how many lines a whole export has; a failure on the way breaks the chunked body. `audit` is called first.
 */
export async function answerLogExport(
  context: QueryContext,
  session: Session,
  ctx: Context,
  audit: (matched: number) => Promise<void>,
): Promise<Refusal | void> {
  const search = ctx.querystring
  const given = readParameters(search, parameters)
  if (!given.ok) return given.error
  const { workspaceId } = session
  const prepared = prepareLogs(
    context,
    { endpoint: 'export', workspaceId, search, byId: false },
    { ...given.value, cursor: undefined },
  )
  if (!prepared.ok) return prepared.error
  const { format, fields } = given.value
  const found = await exportLogs(context.reader, workspaceId, prepared.value.filters)
  await audit(found.matched)
  const text = Readable.from(render(found.batches, format, fields), { objectMode: true, highWaterMark: 1 })
  ctx.set('X-Export-Matched', String(found.matched))
  ctx.set('Content-Disposition', `attachment; filename="${fileName(session, format, context.clock())}"`)
  ctx.set('Cache-Control', 'no-store')
  ctx.vary('Accept-Encoding')
  ctx.status = 200
  ctx.type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8'
  ctx.body = encoded(ctx, text)
  ctx.res.once('close', () => text.destroy())
}

/** Resolves when the answer has gone out or its connection is gone: until then an export counts as under way. */
export const answered = (ctx: Context): Promise<unknown> =>
  ctx.res.writableFinished || ctx.res.destroyed ? Promise.resolve() : once(ctx.res, 'close')
