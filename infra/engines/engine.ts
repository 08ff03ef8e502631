/** A server that runs beside us for tests, trials and benchmarks. Its data is gone with it. */
export type Engine = Readonly<{
  /** With user and password, as our configuration takes it. The same after every `start`. */
  url: string
  /** Where its health is asked, which is 200 while it serves; a NATS server tells its figures there too, without a password. */
  healthUrl: string
  /** Starts it again on its port and data after `stop` or `kill`; resolves when it serves. */
  start(): Promise<void>
  /** SIGTERM, and until all of it is gone. */
  stop(): Promise<void>
  /** SIGKILL, and until all of it is gone. */
  kill(): Promise<void>
  /** It hangs: its connections stay, and nothing is answered until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Stops it for good and removes its data. */
  remove(): Promise<void>
  /** The process group it runs in, for who adds up its CPU seconds; undefined when it is down, or in a container. */
  group(): number | undefined
}>

/** Engines that start together: all of them, or none is left. */
export async function startTogether(starts: readonly Promise<Engine>[]): Promise<readonly Engine[]> {
  const outcomes = await Promise.allSettled(starts)
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const failure = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failure === undefined) return started
  await Promise.all(started.map((engine) => engine.remove()))
  throw failure.reason
}
