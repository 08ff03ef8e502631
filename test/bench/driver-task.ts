/** Bodies to be posted: those of `from` to `to` - 1, each once, over several connections. */
export type LoadTask = Readonly<{
  kind: 'load'
  url: string
  /** Header lines that requests take turns with: one a key. */
  keys: readonly string[]
  headers: Readonly<Record<string, string>>
  file: string
  offsets: Float64Array
  from: number
  to: number
  connections: number
  /** Requests that are due a second; without it each connection sends as soon as it has its answer. */
  perSecond?: number
}>

/** Paths to get, one at a time, over one connection. */
export type QueryTask = Readonly<{
  kind: 'query'
  url: string
  cookie: string
  paths: readonly string[]
  rounds: number
}>
export type DriverTask = LoadTask | QueryTask

export type DriverAnswer = Readonly<{
  seconds: number
  /** CPU of the driver itself: beside a whole core of it the server's rate is the driver's. */
  cpuSeconds: number
  /** Milliseconds from the request (or from when it was due, if that was earlier) to the whole answer, sorted. */
  latencies: Float64Array
  /** Answers by status and body (its beginning), with how many there were. */
  answers: ReadonlyMap<string, number>
  /** The highest `Throughline-Position`; 0 without one. */
  position: number
}>
