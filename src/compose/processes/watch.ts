/** A process that can be asked whether its event loop turns. */
export type Watched = Readonly<{
  /** It answers when its event loop comes to it. */
  ask(): void
  /** How many times it has answered; undefined: a program too old to know the question. */
  answers(): number | undefined
}>

/** Runs the task after `ms`; the function returned cancels it. */
export type After = (ms: number, task: () => void) => () => void

type WatchOptions = Readonly<{
  /** How long it may give no answer, ms; 0: no limit. */
  silenceMs: number
  after: After
  onSilence: () => void
}>

const asksPerSilence = 10

/**
 * Calls `onSilence`, once, when ten questions in a row have had no answer. Unanswered questions are counted, not time: while this process
 * sleeps, with the machine or in a debugger, it asks nothing. The returned function ends it.
 */
export function watch(watched: Watched, { silenceMs, after, onSilence }: WatchOptions): () => void {
  let heard = watched.answers()
  if (silenceMs === 0 || heard === undefined) return () => {}
  let unanswered = 0
  let cancel = (): void => {}
  const ask = (): void => {
    watched.ask()
    cancel = after(silenceMs / asksPerSilence, look)
  }
  const look = (): void => {
    const answers = watched.answers()
    unanswered = answers === heard ? unanswered + 1 : 0
    heard = answers
    if (unanswered < asksPerSilence) ask()
    else onSilence()
  }
  ask()
  return () => cancel()
}
