import type { Level } from './telemetry.ts'

/** Comparison of a field with one value, or with a range. */
export type Bound = Readonly<{ value: string; inclusive: boolean }>

/**
 * A search as the user meant it: the checked tree that the search language makes of text. It holds words as typed;
 * projections/reading/field-query.ts turns it into a filter over the fields and tokens of a collection.
 */
export type QueryTree =
  | Readonly<{ kind: 'all' }>
  | Readonly<{ kind: 'and' | 'or'; of: readonly QueryTree[] }>
  | Readonly<{ kind: 'not'; of: QueryTree }>
  /** Words, in this order and adjacent, in the message or any one string value. One bare word is a phrase of one. */
  | Readonly<{ kind: 'text'; text: string }>
  /** A bare pattern with `*` and `?` over one token (`nullpointer*`), or `/regex/`. */
  | Readonly<{ kind: 'pattern'; field: string | null; syntax: 'wildcard' | 'regex'; pattern: string }>
  /** `field:value`: the words of value, adjacent, in that field. */
  | Readonly<{ kind: 'match'; field: string; text: string }>
  /** `field=value`: the whole value, case folded. */
  | Readonly<{ kind: 'equals'; field: string; value: string }>
  | Readonly<{ kind: 'exists'; field: string }>
  /** Numeric range; bounds are decimal numbers in text. Durations are in nanoseconds and sizes in bytes already. */
  | Readonly<{ kind: 'range'; field: string; from?: Bound; to?: Bound }>
  /** `level>=warn`, `level:[info TO error]`: the levels meant. */
  | Readonly<{ kind: 'levels'; levels: readonly Level[] }>
