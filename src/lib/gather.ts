/** The answer to all calls, and the place of this call among them. */
type Gathered<Answer> = Readonly<{ answer: Answer; at: number }>

/** Asks once for all calls of one turn of the event loop. */
export function createGather<Asked, Answer>(
  ask: (all: readonly Asked[]) => Promise<Answer>,
): (one: Asked) => Promise<Gathered<Answer>> {
  let waiting: Asked[] = []
  let asking: Promise<Answer> | undefined
  const begin = async (): Promise<Answer> => {
    await new Promise((resolve) => setImmediate(resolve))
    const all = waiting
    waiting = []
    asking = undefined
    return ask(all)
  }
  return async (one) => {
    const at = waiting.push(one) - 1
    asking ??= begin()
    return { answer: await asking, at }
  }
}
