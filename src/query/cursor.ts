import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { refusal, type Refusal } from '#src/events/refusal.ts'
import type { WorkspaceId } from '#src/events/workspace-id.ts'
import { parseJson, stringifyJson, type Json } from '#src/lib/json.ts'
import { fail, ok, type Result } from '#src/lib/result.ts'

/** A place in a walk: its key, and the range that its first page resolved (`from=15m` must not slide). */
export type Place = Readonly<{ key: Json; fromNs?: bigint; toNs?: bigint }>

/** What a cursor is bound to: a workspace, an endpoint, and a query as typed. */
export type Binding = Readonly<{ workspaceId: WorkspaceId; endpoint: string; fingerprint: string }>

export interface Cursors {
  write(binding: Binding, place: Place): string
  /** Refusals: `invalid_cursor` (not ours, altered, or of another workspace), `cursor_mismatch` (of another query or endpoint). */
  read(binding: Binding, cursor: string): Result<Place, Refusal>
}

const integer = z.union([z.bigint(), z.number().int().transform(BigInt)])
const stored = z.strictObject({ q: z.string(), k: z.unknown(), f: integer.optional(), t: integer.optional() })

/** Raised if the form of keys in cursors changes: older cursors are then refused with `invalid_cursor`. */
const version = 1

/** Opaque cursors: base64url of the place and a digest of the query; then, after a dot, an HMAC over these and the workspace. */
export function createCursors(secret: string): Cursors {
  const seal = ({ workspaceId }: Binding, body: string): string =>
    createHmac('sha256', secret).update(`cursor${version}\0${workspaceId}\0${body}`).digest('base64url').slice(0, 22)
  const digest = ({ endpoint, fingerprint }: Binding): string =>
    createHash('sha256').update(`${endpoint}\0${fingerprint}`).digest('base64url').slice(0, 16)

  return {
    write: (binding, { key, fromNs, toNs }) => {
      const body = Buffer.from(stringifyJson({ q: digest(binding), k: key, f: fromNs, t: toNs })).toString('base64url')
      return `${body}.${seal(binding, body)}`
    },
    read: (binding, cursor) => {
      const [body = '', tag = '', ...rest] = cursor.split('.')
      const [given, right] = [Buffer.from(tag), Buffer.from(seal(binding, body))]
      const intact = rest.length === 0 && given.length === right.length && timingSafeEqual(given, right)
      if (!intact)
        return fail(
          refusal('invalid_cursor', 'This cursor was not made for this workspace by this server, or was altered.'),
        )
      const place = stored.parse(parseJson(Buffer.from(body, 'base64url').toString()))
      if (place.q !== digest(binding)) {
        return fail(
          refusal('cursor_mismatch', 'This cursor belongs to another query: repeat the parameters it came with.'),
        )
      }
      return ok({
        key: place.k as Json,
        ...(place.f === undefined ? {} : { fromNs: place.f }),
        ...(place.t === undefined ? {} : { toNs: place.t }),
      })
    },
  }
}
