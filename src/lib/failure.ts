/** What an operating failure says: the operation, what it was done to, and what the operator can do. */
type FailureContext = Readonly<{ operation: string; subject: string; hint?: string; cause?: unknown }>

function describe({ operation, subject, hint, cause }: FailureContext): string {
  const reason = cause instanceof Error ? `: ${cause.message}` : ''
  return `${operation}${subject === '' ? '' : ` ${subject}`}${reason}${hint === undefined ? '' : ` (${hint})`}`
}

/** May pass by itself: the caller answers 503 or tries again. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
  constructor(context: FailureContext) {
    super(describe(context), { cause: context.cause })
  }
}

/** Was not done in time: the engine is busy or away, or the request asks for too much. */
export class LateError extends TransientError {}

/** Will not pass by itself: somebody has to act. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
  constructor(context: FailureContext) {
    super(describe(context), { cause: context.cause })
  }
}

/** Whether the error's own message says what failed and what can be done. */
export const isOperatingFailure = (error: unknown): error is TransientError | PermanentError =>
  error instanceof TransientError || error instanceof PermanentError
