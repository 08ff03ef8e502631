/** The message that a promise rejects with; fails when it does not. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  const outcome = await promise.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  if (outcome instanceof Error) return outcome.message
  throw new Error('it did not fail')
}
