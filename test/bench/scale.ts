/** How much is sent. Small runs show that everything works; their figures are mostly warm-up. */
type Scale = Readonly<{
  seed: number
  spans: number
  logs: number
  /** Requests of one line each. */
  lines: number
  /** Records sent before the clock starts, so that the code is compiled. */
  warmUp: number
  /** Requests of each paced load, with the projector halted and running. */
  pacedRequests: number
  /** How often each kind of search is asked, at least. */
  queries: number
  /** Beside a steady load searches are timed in stretches of so many seconds. */
  mixedStretches: number
  mixedSeconds: number
}>

const seed = 20_261_121
export const fullScale: Scale = {
  seed,
  spans: 1_000_000,
  logs: 1_000_000,
  lines: 60_000,
  warmUp: 20_000,
  pacedRequests: 1_000,
  queries: 500,
  mixedStretches: 8,
  mixedSeconds: 60,
}
export const smallScale: Scale = {
  seed,
  spans: 50_000,
  logs: 50_000,
  lines: 5_000,
  warmUp: 5_000,
  pacedRequests: 100,
  queries: 100,
  mixedStretches: 3,
  mixedSeconds: 10,
}

export const recordsPerRequest = 500
/** Many small requests: it is by how often code runs that V8 compiles it, and a server in use has long done so. */
export const warmUpRecordsPerRequest = 10

/** What each benchmark is run with. */
export type BenchContext = Readonly<{
  scale: Scale
  /** For the bodies; gone when the run ends. */
  folder: string
  /** Records begin here, milliseconds: recent, so that searches of the last 24 hours see them. */
  startMs: number
  say: (text: string) => void
}>

/** Other records than the measured ones. */
export const warmUpSeed = ({ seed }: Scale): number => seed + 1_000
