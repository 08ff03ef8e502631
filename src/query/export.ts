import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { Context } from 'koa'
import { z } from 'zod'
import type { FollowedView, Session } from '#src/directory/directory.ts'
import { checkEntitlement } from '#src/directory/entitlement.ts'
import type { Refusal } from '#src/events/refusal.ts'
import { piecesOf } from '#src/http/sending.ts'
import { csvRecord } from '#src/lib/csv.ts'
import { TransientError } from '#src/lib/failure.ts'
import { mapInTurns } from '#src/lib/in-turns.ts'
import { stringifyJson, textOrJson } from '#src/lib/json.ts'
import { exportLogs, type LogItem } from '#projections/logs/query.ts'
import type { QueryContext } from './context.ts'
import { logFilters, prepareLogs } from './logs.ts'
import { readParameters } from './parameters.ts'

export const logExportParameters = z.object({ ...logFilters, format: z.enum(['ndjson', 'csv']).default('ndjson') })
type Format = z.output<typeof logExportParameters>['format']

export const exportContentTypes: Readonly<Record<Format, string>> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
}

const columns = ['id', 'timestamp', 'level', 'message', 'service', 'trace_id', 'span_id', 'session_id'] as const
const columnNames: ReadonlySet<string> = new Set(columns)
/** Every client accepts a header of this length; a longer query is left out. */
const queryHeaderCharactersMax = 4_096

const cellText = (value: unknown): string => (value === null || value === undefined ? '' : textOrJson(value))

/** With `fields`, one column for each of them. Without, all fields as JSON in one column. */
function csvLine(item: LogItem, fields: readonly string[] | undefined): string {
  const own = columns.map((column) => cellText(item[column]))
  const rest = fields?.map((name) => cellText(item.fields[name])) ?? [stringifyJson(item.fields)]
  return csvRecord([...own, ...rest])
}

/** The fields that get columns of their own. Each name is used once, because readers of CSV find columns by name; the fixed columns come first. */
const ownColumns = (fields: readonly string[] | undefined): readonly string[] | undefined =>
  fields === undefined ? undefined : [...new Set(fields)].filter((name) => !columnNames.has(name))

/** Whether the person may still have the export: during its hours they may be removed or change their password, or the plan may change. */
function permissionOf({ workspaceId, userId }: Session, directory: FollowedView): () => boolean {
  const since = directory.passwordPosition(userId)
  return () =>
    directory.isMember(workspaceId, userId) &&
    directory.passwordPosition(userId) === since &&
    checkEntitlement(directory.workspace(workspaceId), ['logs']) === undefined
}

async function* whileAllowed(
  batches: AsyncIterable<readonly LogItem[]>,
  isAllowed: () => boolean,
): AsyncGenerator<readonly LogItem[]> {
  for await (const items of batches) {
    if (!isAllowed()) {
      const hint = 'who asked for them was removed or has another password, or the plan has no logs any more'
      throw new TransientError({ operation: 'export', subject: 'logs', hint })
    }
    yield items
  }
}

async function* render(
  batches: AsyncIterable<readonly LogItem[]>,
  format: Format,
  fields: readonly string[] | undefined,
): AsyncGenerator<Buffer> {
  const line = format === 'csv' ? csvLine : (item: LogItem) => `${stringifyJson(item)}\n`
  if (format === 'csv') yield Buffer.from(csvRecord([...columns, ...(fields ?? ['fields'])]))
  for await (const items of batches) {
    yield* piecesOf(Buffer.from((await mapInTurns(items, (item) => line(item, fields))).join('')))
  }
}

/** `logs_acme_2026-11-21T07-00-00Z.ndjson` */
function fileName(session: Session, format: Format, nowMs: number): string {
  return `logs_${session.workspaceId}_${new Date(nowMs).toISOString().slice(0, 19).replaceAll(':', '-')}Z.${format}`
}

/** The text in the content coding that the client accepts. A failure or a disconnected client ends both streams. */
function encoded(ctx: Context, text: Readable): Readable {
  if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return text
  ctx.set('Content-Encoding', 'gzip')
  const zipped = createGzip({ level: 1 })
  text.once('error', (error) => zipped.destroy(error))
  zipped.once('close', () => text.destroy())
  return text.pipe(zipped)
}

function setHeaders(ctx: Context, matched: number, normalized: string, name: string): void {
  ctx.set('X-Export-Matched', String(matched))
  const query = encodeURIComponent(normalized.toWellFormed())
  if (query.length <= queryHeaderCharactersMax) ctx.set('X-Query-Normalized', query)
  ctx.set('Content-Disposition', `attachment; filename="${name}"`)
  ctx.set('Cache-Control', 'no-store')
  ctx.vary('Accept-Encoding')
}

/**
 * GET /app/logs/export: every match of one snapshot, streamed by keyset pages with constant memory. `X-Export-Matched` gives the number of lines of a
 * complete export; a failure on the way breaks the chunked body. `audit` is called with the format before anything is sent. HEAD answers with the
 * headers only, and exports nothing.
 */
export async function answerLogExport(
  context: QueryContext,
  session: Session,
  ctx: Context,
  audit: (format: Format) => Promise<void>,
): Promise<Refusal | void> {
  const isAllowed = permissionOf(session, context.directory)
  const search = ctx.querystring
  const given = readParameters(search, logExportParameters)
  if (!given.ok) return given.error
  const { workspaceId } = session
  const { format, ...filters } = given.value
  const where = { endpoint: 'export', workspaceId, search, byId: false }
  const prepared = prepareLogs(context, where, { ...filters, cursor: undefined })
  if (!prepared.ok) return prepared.error
  const { query } = prepared.value
  const found = await exportLogs(context.readerOf(workspaceId), workspaceId, prepared.value.filters)
  setHeaders(ctx, found.matched, query.normalized, fileName(session, format, context.clock()))
  ctx.status = 200
  ctx.set('Content-Type', exportContentTypes[format])
  if (ctx.method === 'HEAD') return
  await audit(format)
  const text = Readable.from(render(whileAllowed(found.batches, isAllowed), format, ownColumns(filters.fields)), {
    objectMode: true,
    highWaterMark: 1,
  })
  // Koa destroys the body once the answer is sent or its connection is closed.
  ctx.body = encoded(ctx, text)
}
