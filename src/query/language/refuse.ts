import { refusal, type Refusal } from '#src/events/refusal.ts'

/** A refusal of a query: always with a place in it and what could stand there. */
export type QuerySyntaxRefusal = Refusal &
  Readonly<{ code: 'query_syntax'; position: number; expected: readonly string[] }>

/** Ends the parse. Never leaves parse-query.ts. */
export class QueryStop extends Error {
  readonly refusal: QuerySyntaxRefusal
  constructor(position: number, detail: string, expected: readonly string[]) {
    super(detail)
    this.refusal = { ...refusal('query_syntax', detail), code: 'query_syntax', position, expected }
  }
}
