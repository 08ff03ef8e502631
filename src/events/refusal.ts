/** Stable, machine-readable codes of refusals (the `code` of a problem document). http/errors.ts gives each its status. */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_body'
  | 'invalid_parameter'
  | 'unknown_parameter'
  | 'query_syntax'
  | 'query_too_broad'
  | 'invalid_cursor'
  | 'cursor_mismatch'
  | 'missing_credential'
  | 'invalid_credential'
  | 'revoked_credential'
  | 'not_signed_in'
  | 'wrong_key_kind'
  | 'secret_in_browser'
  | 'secret_key_in_browser'
  | 'origin_not_allowed'
  | 'entitlement_required'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'body_timeout'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unsupported_encoding'
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'

/** An expected refusal, as a value: what is wrong, where, and what would be right. */
export type Refusal = Readonly<{
  code: RefusalCode
  /** One sentence for a person. Never holds a secret. */
  detail: string
  errors?: readonly Readonly<{ path: string; message: string }>[]
  /** `entitlement_required`: which. */
  feature?: string
  /** `query_syntax`: where in the query (0-based, UTF-16 units), and what could stand there. */
  position?: number
  expected?: readonly string[]
  /** `not_found`: how far the index had followed the log when it did not know the id. */
  index?: Readonly<{ position: number; head: number; lag_ms: number; complete: boolean }>
  /** How many records the refused request has, as far as they could be counted. */
  records?: number
  /** How many spans a refused request of a browser has; `records` does not include them. */
  spans?: number
  /** `method_not_allowed`. */
  allow?: readonly string[]
  retryAfterS?: number
}>

export function refusal(code: RefusalCode, detail: string, more: Omit<Refusal, 'code' | 'detail'> = {}): Refusal {
  return { code, detail, ...more }
}
