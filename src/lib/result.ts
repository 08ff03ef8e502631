/** An expected outcome that may be a refusal. Refusals are values, not exceptions. */
export type Result<T, E> = Readonly<{ ok: true; value: T }> | Readonly<{ ok: false; error: E }>

export const ok = <T>(value: T): Readonly<{ ok: true; value: T }> => ({ ok: true, value })
export const fail = <E>(error: E): Readonly<{ ok: false; error: E }> => ({ ok: false, error })
